/**
 * How fast does the MySQL adapter write filters with a version check? Measures new, folded and refused filters of light, medium and
 * heavy viewers, reads of a viewer's four months, for one viewer and for many at once, and purging.
 *
 *   scripts/services up mariadb
 *   node bench/support/mysql-filters.ts [url] [filters of light viewers] [filters per call]      default: the server of scripts/services, 50000 1000
 *
 * It creates its own database on the server and drops it at the end.
 */
import { systemClock } from '../../core/clock.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { type MysqlSeenRecords, openMysqlSeenRecords } from '../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import type { FilterWrite } from '../../subgraphs/feed-existence/stores/record-store.ts'

const [url = 'mysql://tidemark:tidemark@127.0.0.1:17306/tidemark', countText = '50000', callText = '1000'] = process.argv.slice(2)
const COUNT = Number(countText)
const CALL = Number(callText)
const MONTHS = 4
const EXPIRES_AT = 1_800_000_000_000
const random = seededRandom(7)
/** About 30, 700 and 10,000 records at 12.5 bits. */
const KINDS = [
  { name: 'light', bytes: 60, filters: COUNT },
  { name: 'medium', bytes: 1_100, filters: Math.ceil(COUNT / 4) },
  { name: 'heavy', bytes: 15_600, filters: Math.ceil(COUNT / 25) },
]

function writeAt(kind: (typeof KINDS)[number], index: number, expected: number): FilterWrite {
  const filter = Buffer.alloc(kind.bytes + expected, 170 + expected)
  const viewer = String((1 + KINDS.indexOf(kind)) * 100_000_000 + Math.floor(index / MONTHS) * 37)
  return { viewer, month: 680 + (index % MONTHS), filter, expected, expiresAt: EXPIRES_AT + randomBelow(random, 2_592_000_000) }
}

async function timed(name: string, unit: string, count: number, bytes: number, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1000
  const rate = Math.round(count / seconds).toLocaleString('en')
  const volume = bytes === 0 ? '' : `   ${((count * bytes) / seconds / 1e6).toFixed(1)} MB/s`
  console.log(`${name.padEnd(52)} ${rate.padStart(9)} ${unit}/s${volume}`)
}

/** Runs `work` for 0 … count - 1, `width` at once. */
async function atOnce(width: number, count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

function putAll(store: MysqlSeenRecords, kind: (typeof KINDS)[number], expected: number, accepted: boolean): Promise<void> {
  return atOnce(2, Math.ceil(kind.filters / CALL), async (call) => {
    const length = Math.min(CALL, kind.filters - call * CALL)
    const writes = Array.from({ length }, (_, index) => writeAt(kind, call * CALL + index, expected))
    const written = await store.putFilters(writes)
    if (written.some((each) => each !== accepted)) throw new Error(`not all were ${accepted ? 'accepted' : 'refused'}`)
  })
}

async function main(): Promise<void> {
  const administrator = openDatabase(systemClock, { url, connectionsMax: 1 })
  const name = `tidemark_bench_${process.pid}`
  await administrator.send(`CREATE DATABASE ${name}`)
  const address = new URL(url)
  address.pathname = `/${name}`
  const database = openDatabase(systemClock, { url: address.href })
  await migrateMysql(database)
  const store = await openMysqlSeenRecords({ url: address.href, regions: 100 })

  for (const kind of KINDS) {
    const what = `${kind.name}, ${kind.bytes} bytes:`
    const viewers = Math.floor(kind.filters / MONTHS)
    const months = () => {
      const at = randomBelow(random, viewers) * MONTHS
      return Array.from({ length: MONTHS }, (_, month) => writeAt(kind, at + month, 0))
    }
    await timed(`${what} new, ${CALL} a call`, 'filters', kind.filters, kind.bytes, () => putAll(store, kind, 0, true))
    await timed(`${what} folded once`, 'filters', kind.filters, kind.bytes, () => putAll(store, kind, 1, true))
    await timed(`${what} refused`, 'filters', kind.filters, 0, () => putAll(store, kind, 1, false))
    await timed(`${what} four months of a viewer, 8 at once`, 'viewers', 2_000, kind.bytes * MONTHS, () =>
      atOnce(8, 2_000, () => store.getFilters(months())),
    )
    await timed(`${what} 100 filters a lookup, 2 at once`, 'filters', 10_000, kind.bytes, () =>
      atOnce(2, 100, () => store.getFilters(Array.from({ length: 25 }, months).flat())),
    )
  }
  const { rows, statements, retries, latencyMs, statementLimit, rowLimit } = store.figures()
  console.log(
    `  ${rows} filters in ${statements} transactions, ${retries} retries, ${latencyMs.toFixed(0)} ms each lately, limits ${statementLimit} × ${rowLimit}`,
  )
  const all = KINDS.reduce((sum, { filters }) => sum + filters, 0)
  await timed('measuring all', 'filters', all, 0, async () => {
    const { filters, bytes } = await store.measureFilters()
    console.log(`  ${filters} filters, ${bytes} bytes`)
  })
  await timed('purging, 1000 a call', 'filters', all, 0, async () => {
    while ((await store.purgeExpired(EXPIRES_AT * 2, 1_000)) > 0);
  })

  await store.close()
  await database.close()
  await administrator.send(`DROP DATABASE ${name}`)
  await administrator.close()
}

await main()
