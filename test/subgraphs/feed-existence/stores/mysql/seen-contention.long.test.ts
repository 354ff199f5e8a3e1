import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { type MysqlSeenRecords, openMysqlSeenRecords } from '../../../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { freshViewer } from '../../../../contracts/reports.ts'
import { filterKey, filterWrite, freshViewers, numbersOf, setBytes, someBytes } from '../../../../contracts/feed-existence/seen-filters.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'
import { makeStatementProxy, type StatementProxy, type Verdict } from '../../../../stores/mysql/statement-proxy.ts'
import { until } from '../../../../../harness/until.ts'

describe.skipIf(mariadb === undefined)('concurrent writers of the same filters', () => {
  let test: TestDatabase
  let proxy: StatementProxy
  let stores: MysqlSeenRecords[]
  let store: MysqlSeenRecords
  let held: MysqlSeenRecords
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    proxy = await makeStatementProxy(test.url)
    stores = await Promise.all([test.url, test.url, test.url, proxy.url].map((url) => openMysqlSeenRecords({ url, regions: 100 })))
    ;[store, , , held] = stores as [MysqlSeenRecords, MysqlSeenRecords, MysqlSeenRecords, MysqlSeenRecords]
  })
  afterEach(() => proxy?.setJudge(() => 'pass'))
  afterAll(async () => {
    await Promise.all((stores ?? []).map((each) => each.close()))
    await proxy?.close()
    await test?.drop()
  })

  it('a filter inserted by another writer since the read is refused, and the others of the call are written', async () => {
    const viewers = freshViewers(5)
    const taken = viewers[2] as string
    const retries = held.figures().retries
    let first = true
    proxy.setJudge(async (sql): Promise<Verdict> => {
      if (first && sql.startsWith('INSERT INTO seen_filters')) {
        first = false
        await store.putFilters([filterWrite(taken, someBytes(9))])
      }
      return 'pass'
    })
    const written = await held.putFilters(viewers.map((viewer, at) => filterWrite(viewer, someBytes(20, at))))
    expect(written).toEqual([true, true, false, true, true])
    expect(held.figures().retries).toBe(retries + 1)
    const found = await store.getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(found.map((each) => each?.filter)).toEqual(viewers.map((viewer, at) => (viewer === taken ? someBytes(9) : someBytes(20, at))))
    expect(found.map((each) => each?.version)).toEqual([1, 1, 1, 1, 1])
  })

  it('a compared version cannot change before the commit', async () => {
    const viewer = freshViewer()
    await store.putFilters([filterWrite(viewer, someBytes(10))])
    let rival: Promise<boolean[]> | undefined
    proxy.setJudge(async (sql): Promise<Verdict> => {
      if (rival === undefined && sql.startsWith('INSERT INTO seen_filters')) {
        rival = store.putFilters([filterWrite(viewer, someBytes(12), { expected: 1 })])
        await sleep(100)
      }
      return 'pass'
    })
    expect(await held.putFilters([filterWrite(viewer, someBytes(11), { expected: 1 })])).toEqual([true])
    expect(await rival).toEqual([false])
    expect(await store.getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(11), version: 2 }])
  })

  it('a commit with a lost answer rejects, and its repetition is refused', async () => {
    const viewer = freshViewer()
    let cuts = 0
    proxy.setJudge((sql) => (sql === 'COMMIT' && cuts++ === 0 ? 'cut' : 'pass'))
    const write = filterWrite(viewer, someBytes(10))
    await expect(held.putFilters([write])).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE', extensions: { retryable: true } })
    await until('the commit is done', async () => (await store.getFilters([filterKey(viewer)]))[0] !== undefined)
    expect(await held.putFilters([write])).toEqual([false])
    expect(await held.getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(10), version: 1 }])
  })

  it('a connection lost during a transaction leaves nothing of it', async () => {
    const [fresh, known] = [freshViewer(), freshViewer()]
    await store.putFilters([filterWrite(known, someBytes(10))])
    for (const middle of ['INSERT INTO seen_filters', 'SELECT /*+ INL_JOIN(f) */ k.i, f.version, f.filter IS']) {
      let cuts = 0
      proxy.setJudge((sql) => (sql.startsWith(middle) && cuts++ === 0 ? 'cut' : 'pass'))
      const writes = [filterWrite(fresh, someBytes(11)), filterWrite(known, someBytes(11), { expected: 1 })]
      await expect(held.putFilters(writes)).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
      expect(await store.getFilters([fresh, known].map((viewer) => filterKey(viewer)))).toEqual([
        undefined,
        { filter: someBytes(10), version: 1 },
      ])
    }
    proxy.setJudge(() => 'pass')
    const writes = [filterWrite(fresh, someBytes(11)), filterWrite(known, someBytes(11), { expected: 1 })]
    expect(await held.putFilters(writes)).toEqual([true, true])
  })

  it('a quarantine interrupted between its two steps has no effect', async () => {
    const viewer = freshViewer()
    await store.putFilters([filterWrite(viewer, someBytes(10))])
    let cuts = 0
    proxy.setJudge((sql) => (sql.startsWith('UPDATE seen_filters') && cuts++ === 0 ? 'cut' : 'pass'))
    await expect(held.quarantineFilter(filterKey(viewer), 1, 'broken')).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect(await store.getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(10), version: 1 }])
    await held.quarantineFilter(filterKey(viewer), 1, 'broken')
    expect((await store.listQuarantined(10)).map(({ viewer: of }) => of)).toEqual([viewer])
  })

  it('the number of statements and transactions does not grow with the number of filters', async () => {
    const viewers = freshViewers(60)
    const sent = { inserts: 0, commits: 0 }
    proxy.setJudge((sql) => {
      if (sql.startsWith('INSERT INTO seen_filters')) sent.inserts += 1
      if (sql === 'COMMIT') sent.commits += 1
      return 'pass'
    })
    // A quarter of a megabyte has room for six filters of 40 kB, and a megabyte for 26.
    expect(await held.putFilters(viewers.map((viewer, at) => filterWrite(viewer, someBytes(40_000, at))))).toEqual(viewers.map(() => true))
    expect(sent.inserts).toBeGreaterThanOrEqual(60 / 6)
    expect(sent.commits).toBeGreaterThanOrEqual(Math.ceil(60 / 26))
    sent.inserts = 0
    expect(await held.putFilters(freshViewers(60).map((viewer, at) => filterWrite(viewer, someBytes(40, at))))).toEqual(
      viewers.map(() => true),
    )
    expect(sent.inserts).toBe(1)
  })

  it('repeated connection losses lose no folded number', async () => {
    const viewers = freshViewers(10)
    let failures = 0
    let statements = 0
    proxy.setJudge(() => (++statements % 17 === 0 ? 'cut' : 'pass'))
    const worker = async (own: MysqlSeenRecords, number: number): Promise<void> => {
      for (let round = 0; round < 25;) {
        try {
          const stored = await own.getFilters(viewers.map((viewer) => filterKey(viewer)))
          const left = viewers.flatMap((viewer, at) => {
            const numbers = numbersOf(stored[at]?.filter)
            if (numbers.includes(number * 100 + round)) return []
            return [filterWrite(viewer, setBytes([...numbers, number * 100 + round]), { expected: stored[at]?.version ?? 0 })]
          })
          if (left.length === 0) round += 1
          else await own.putFilters(left)
        } catch (error) {
          expect(error).toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
          failures += 1
        }
      }
    }
    await Promise.all(stores.map(worker))
    const stored = await store.getFilters(viewers.map((viewer) => filterKey(viewer)))
    const all = stores.flatMap((_, number) => Array.from({ length: 25 }, (_none, round) => number * 100 + round))
    expect(stored.map((each) => numbersOf(each?.filter))).toEqual(viewers.map(() => all))
    expect(failures).toBeGreaterThan(3)
  })
})
