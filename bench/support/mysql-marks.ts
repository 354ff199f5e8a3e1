/**
 * How fast does the MySQL adapter write marks with their counts? Transactions have some thousand marks: new, changed, repeated,
 * and already archived ones. Also measures lookups, pages and archiving.
 *
 *   scripts/services up mariadb
 *   node bench/support/mysql-marks.ts [url] [rows] [rows per call] [concurrent calls]      default: the server of scripts/services, 100000 5000 2
 *
 * It creates its own database on the server and drops it at the end. One subject in a hundred gets half of all marks.
 */
import { systemClock } from '../../core/clock.ts'
import type { Mark } from '../../core/domain.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { type MysqlMarkRecords, openMysqlMarkRecords } from '../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import type { MarkRow } from '../../subgraphs/thumbup/stores/record-store.ts'

const [url = 'mysql://tidemark:tidemark@127.0.0.1:17306/tidemark', rowsText = '100000', callText = '5000', widthText = '2'] =
  process.argv.slice(2)
const ROWS = Number(rowsText)
const CALL_ROWS = Number(callText)
const CALLS_AT_ONCE = Number(widthText)
const VIEWERS = Math.ceil(ROWS / 20)
const SUBJECTS = 10_000
const START = 1_790_000_000_000
const random = seededRandom(7)

function rowAt(index: number, mark: Mark, markedAt: number): MarkRow {
  const turn = Math.floor(index / VIEWERS)
  const viewer = index % VIEWERS
  const subject = turn % 2 === 0 ? (viewer * 7 + turn) % (SUBJECTS / 100) : (viewer * 7919 + turn * 104_729) % SUBJECTS
  return {
    key: { viewer: String(viewer * 37 + 1), business: 1, oid: String(1_000_000 + subject * 20 + turn) },
    record: { mark, markedAt, version: markedAt * 1024 },
  }
}

async function timed(name: string, unit: string, count: number, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1000
  console.log(
    `${name.padEnd(48)} ${Math.round(count / seconds)
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

function applyAll(store: MysqlMarkRecords, mark: Mark, markedAt: number): Promise<void> {
  return atOnce(CALLS_AT_ONCE, Math.ceil(ROWS / CALL_ROWS), async (call) => {
    const length = Math.min(CALL_ROWS, ROWS - call * CALL_ROWS)
    const rows = Array.from({ length }, (_, index) => rowAt(call * CALL_ROWS + index, mark, markedAt + index))
    const { changes } = await store.applyMarks(rows, [{ stream: 'bench', partition: call % 2, offset: call }])
    if (changes !== undefined) await store.dropOutbox([changes.number])
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
  const store = await openMysqlMarkRecords({ url: address.href, regions: 100 })

  await timed(`likes, fresh, ${CALL_ROWS} a call, ${CALLS_AT_ONCE} at once`, 'marks', ROWS, () => applyAll(store, 'LIKE', START))
  await timed('dislikes of what was liked', 'marks', ROWS, () => applyAll(store, 'DISLIKE', START + 60_000))
  await timed('likes once more', 'marks', ROWS, () => applyAll(store, 'LIKE', START + 120_000))
  await timed('the same again, and no transition', 'marks', ROWS, () => applyAll(store, 'LIKE', START + 120_000))
  const { rows, statements, retries, latencyMs, statementLimit, rowLimit } = store.figures()
  console.log(
    `  ${rows} marks in ${statements} transactions, ${retries} retries, ${latencyMs.toFixed(0)} ms each lately, limits ${statementLimit} × ${rowLimit}`,
  )

  const subjects = [...new Set(Array.from({ length: ROWS }, (_, index) => rowAt(index, 'LIKE', START).key.oid))]
  const counted = subjects.map((oid) => ({ business: 1, oid }))
  await timed('recounts', 'subjects', counted.length, async () => {
    const drift = (await store.recount(counted)).length
    if (drift > 0) throw new Error(`${drift} counts are wrong`)
  })
  const keys = () => Array.from({ length: 50 }, () => rowAt(randomBelow(random, ROWS), 'LIKE', START).key)
  await timed('lookups of 50 keys, 8 at once', 'lookups', 2_000, () => atOnce(8, 2_000, () => store.getMarkMany(keys())))
  const likes = () => store.listMarks(rowAt(randomBelow(random, ROWS), 'LIKE', START).key.viewer, 1, ['LIKE', 'DISLIKE'], undefined, 20)
  await timed("pages of 20 of a viewer's marks, 8 at once", 'pages', 2_000, () => atOnce(8, 2_000, likes))
  const likers = () => store.listLikers({ business: 1, oid: rowAt(randomBelow(random, ROWS), 'LIKE', START).key.oid }, undefined, 20)
  await timed("pages of 20 of a subject's likers, 8 at once", 'pages', 2_000, () => atOnce(8, 2_000, likers))

  const before = await store.measureMarks()
  await timed('archiving, 10000 a call', 'marks', ROWS, async () => {
    while ((await store.archiveMarks(START + 1_000_000, 10_000)) > 0);
  })
  const after = await store.measureMarks()
  console.log(`  ${before.recentBytes} bytes in ${before.recent} rows, ${after.archivedBytes} in the blocks of ${after.archived} marks`)
  await timed('dislikes of what is archived', 'marks', ROWS, () => applyAll(store, 'DISLIKE', START + 2_000_000))
  if ((await store.recount(counted)).length > 0) throw new Error('counts are wrong')
  await timed("pages of a viewer's marks, all covered", 'pages', 1_000, () => atOnce(8, 1_000, likes))

  await store.close()
  await database.close()
  await administrator.send(`DROP DATABASE ${name}`)
  await administrator.close()
}

await main()
