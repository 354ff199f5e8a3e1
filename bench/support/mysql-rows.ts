/**
 * How fast does the MySQL adapter write, read and purge? Guarded upserts insert new rows, update existing rows, or lose against
 * newer rows, in the batches of the persist step. Also measures lookups, pages and purges.
 *
 *   scripts/services up mariadb
 *   node bench/support/mysql-rows.ts [url] [rows]        default: the server of scripts/services, 200000 rows
 *
 * It creates its own database on the server and drops it at the end.
 */
import { systemClock } from '../../core/clock.ts'
import type { ProgressRecord, ProgressRow } from '../../core/domain.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { type MysqlRecordStore, openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'

const [url = 'mysql://tidemark:tidemark@127.0.0.1:17306/tidemark', rowsText = '200000'] = process.argv.slice(2)
const ROWS = Number(rowsText)
const VIEWERS = Math.ceil(ROWS / 100)
/** Equal to the default of `history.persistKeysMax`. */
const CALL_ROWS = 5_000
const CALLS_AT_ONCE = 2
const START = 1_790_000_000_000
const random = seededRandom(7)

function rowAt(index: number, viewedAt: number): ProgressRow {
  const record: ProgressRecord = {
    viewedAt,
    since: 0,
    rank: 2 ** 42 + viewedAt,
    version: viewedAt * 1024,
    position: index % 3_600_000,
    duration: 3_600_000,
    device: 'phone',
    finished: false,
    deleted: false,
  }
  const viewer = String((index % VIEWERS) * 37 + 1)
  return {
    key: { viewer, business: 1 + (Math.floor(index / VIEWERS) % 3), oid: String((Math.floor(index / VIEWERS) * 7919) % 1_000_003) },
    record,
  }
}

async function timed(name: string, unit: string, count: number, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1000
  console.log(
    `${name.padEnd(44)} ${Math.round(count / seconds)
      .toLocaleString('en')
      .padStart(9)} ${unit}/s`,
  )
}

/** Runs `work` for 0 … count - 1, `width` at once. */
async function atOnce(width: number, count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

function writeAll(store: MysqlRecordStore, viewedAt: number, indexOf: (index: number) => number): Promise<void> {
  return atOnce(CALLS_AT_ONCE, Math.ceil(ROWS / CALL_ROWS), (call) => {
    const length = Math.min(CALL_ROWS, ROWS - call * CALL_ROWS)
    return store.putProgress(Array.from({ length }, (_, index) => rowAt(indexOf(call * CALL_ROWS + index), viewedAt)))
  })
}

/** Visits all rows in an order without a pattern: the step and the number of rows are coprime. */
function shuffled(index: number): number {
  return (index * 100_003) % ROWS
}

async function main(): Promise<void> {
  const administrator = openDatabase(systemClock, { url, connectionsMax: 1 })
  const name = `tidemark_bench_${process.pid}`
  await administrator.send(`CREATE DATABASE ${name}`)
  const address = new URL(url)
  address.pathname = `/${name}`
  const database = openDatabase(systemClock, { url: address.href })
  await migrateMysql(database)
  const store = await openMysqlRecordStore({ url: address.href, regions: 100 })

  await timed(`upserts, fresh, ${CALL_ROWS} a call`, 'rows', ROWS, () => writeAll(store, START, (index) => index))
  await timed('upserts, existing, newer, same hour', 'rows', ROWS, () => writeAll(store, START + 60_000, shuffled))
  await timed('upserts, existing, newer, another hour', 'rows', ROWS, () => writeAll(store, START + 7_200_000, shuffled))
  await timed('upserts, existing, stale', 'rows', ROWS, () => writeAll(store, START + 120_000, shuffled))
  const { rows, statements, retries, latencyMs, statementLimit, rowLimit } = store.figures()
  console.log(
    `  ${rows} rows in ${statements} statements (${Math.round(rows / statements)} each), ${retries} retries, ${latencyMs.toFixed(1)} ms each lately, limits ${statementLimit} × ${rowLimit}`,
  )

  const keys = () => Array.from({ length: 50 }, () => rowAt(randomBelow(random, ROWS), 0).key)
  await timed('lookups of 50 keys, 8 at once', 'lookups', 4_000, () => atOnce(8, 4_000, () => store.getProgressMany(keys())))
  const page = async () => {
    const viewer = String(randomBelow(random, VIEWERS) * 37 + 1)
    const before = { viewedAt: START + 7_200_000, business: 2, oid: '55433' }
    if ((await store.listProgress(viewer, [1, 2, 3], before, 20)).length !== 20) throw new Error('a page has fewer than 20 entries')
  }
  await timed('pages of 20 of 3 businesses, 8 at once', 'pages', 4_000, () => atOnce(8, 4_000, page))
  await timed('pages of 20 of 3 businesses, one by one', 'pages', 500, () => atOnce(1, 500, page))
  await timed('purge of what expired, 1000 a step', 'rows', ROWS, async () => {
    while ((await store.purgeExpired(START + 20_000_000, 1_000)) > 0);
  })

  await store.close()
  await database.close()
  await administrator.send(`DROP DATABASE ${name}`)
  await administrator.close()
}

await main()
