/** Raw limits to compare the distributed shape with: the Redis script alone and the MariaDB upsert alone. */
import type { ProgressRecord } from '../../core/domain.ts'
import type { OpenStores } from '../../cli/stores/history.ts'

export type RawServers = { hotPutsPerSecond: number; rowsPerSecond: number }

const VIEWERS = 10_000
const SUBJECTS = 100
const PUT_BATCH = 500
const PUTS_AT_ONCE = 8
/** Equal to the default of `history.persistKeysMax`. */
const ROW_BATCH = 5_000
const ROW_BATCHES_AT_ONCE = 2
const START = 1_600_000_000_000

/** Measures each for `durationMs`. The rows exist before, so every upsert is a guarded update. */
export async function measureRawServers({ hot, records }: OpenStores, durationMs: number): Promise<RawServers> {
  let put = 0
  const hotPutsPerSecond = await perSecond(durationMs, PUTS_AT_ONCE, PUT_BATCH, async () => {
    const writes = Array.from({ length: PUT_BATCH }, () => ({ ...keyAt(put), record: recordAt(put++), decisive: true }))
    await hot.putProgress(writes, { now: Date.now(), timelineCap: 1_000 })
  })
  // One call per lane has all the rows, which repeat.
  let row = 0
  const putRows = async (): Promise<void> => {
    const rows = Array.from({ length: ROW_BATCH }, () => ({ key: keyAt(row % (ROW_BATCH * 10)), record: recordAt(row++) }))
    await records.putProgress(rows)
  }
  for (let filled = 0; filled < 10; filled++) await putRows()
  const rowsPerSecond = await perSecond(durationMs, ROW_BATCHES_AT_ONCE, ROW_BATCH, putRows)
  return { hotPutsPerSecond, rowsPerSecond }
}

async function perSecond(durationMs: number, atOnce: number, each: number, work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() - begun < durationMs) {
        await work()
        done += each
      }
    }),
  )
  return done / ((performance.now() - begun) / 1_000)
}

function keyAt(index: number) {
  return { viewer: `raw-${index % VIEWERS}`, business: 1, oid: String(Math.floor(index / VIEWERS) % SUBJECTS) }
}

function recordAt(index: number): ProgressRecord {
  const viewedAt = START + index
  return {
    viewedAt,
    since: 0,
    rank: 2 ** 42 + viewedAt,
    version: viewedAt * 1_024,
    position: 10_000 + (index % 3_600_000),
    duration: 3_600_000,
    device: 'tv',
    finished: false,
    deleted: false,
  }
}
