import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Mark } from '../../../../../core/domain.ts'
import { transitionOf } from '../../../../../subgraphs/thumbup/model/merge.ts'
import { randomBelow, seededRandom } from '../../../../../core/random.ts'
import { type MysqlMarkRecords, openMysqlMarkRecords } from '../../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import type { MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'
import { makeStatementProxy, type StatementProxy, type Verdict } from '../../../../stores/mysql/statement-proxy.ts'
import { until } from '../../../../../harness/until.ts'

const NOW = 1_700_000_000_000
const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']
const VIEWERS = 40
const SUBJECTS = 12

let lastBusiness = 0

describe.skipIf(mariadb === undefined)('concurrent writers of the same marks', () => {
  let test: TestDatabase
  let proxy: StatementProxy
  let stores: MysqlMarkRecords[]
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    proxy = await makeStatementProxy(test.url)
    stores = await Promise.all([test.url, test.url, test.url, proxy.url].map((url) => openMysqlMarkRecords({ url, regions: 100 })))
  })
  afterAll(async () => {
    await Promise.all((stores ?? []).map((store) => store.close()))
    await proxy?.close()
    await test?.drop()
  })

  const subjectsOf = (business: number) => Array.from({ length: SUBJECTS }, (_, index) => ({ business, oid: `v${index}` }))
  const ownersOf = (business: number) => ['o0', 'o1', 'o2'].map((owner) => ({ business, owner }))

  /** Marks of distinct keys, at times that collide with those of other writers. */
  function someRows(business: number, round: number, seed: number): MarkRow[] {
    const random = seededRandom(seed * 1_000 + round)
    const keys = new Set(Array.from({ length: 120 }, () => `${randomBelow(random, VIEWERS)}:${randomBelow(random, SUBJECTS)}`))
    return [...keys].map((text) => {
      const [viewer = '', subject = ''] = text.split(':')
      return {
        key: { viewer, business, oid: `v${subject}` },
        record: { mark: MARKS[randomBelow(random, 3)] as Mark, markedAt: NOW + round * 5 + randomBelow(random, 10), version: seed },
      }
    })
  }

  /** Counts equal rows, owner sums equal counts, and the outbox has each transition once. */
  async function expectNoDrift(business: number): Promise<void> {
    const [store] = stores as [MysqlMarkRecords]
    expect(await store.recount(subjectsOf(business))).toEqual([])
    expect(await store.recountOwners(ownersOf(business))).toEqual([])
    const changes = (await store.listOutbox(100_000)).flatMap(({ transitions }) => transitions)
    const told = new Map(subjectsOf(business).map(({ oid }) => [oid, { likes: 0, dislikes: 0 }]))
    for (const { key, old, record } of changes) {
      const sum = told.get(key.oid)
      if (key.business !== business || sum === undefined) continue
      const { likes, dislikes } = transitionOf(old, record.mark)
      sum.likes += likes
      sum.dislikes += dislikes
    }
    const counts = await store.getCountsMany(subjectsOf(business))
    expect(counts.map(({ likes, dislikes }) => ({ likes, dislikes }))).toEqual([...told.values()])
    expect(counts.some(({ likes }) => likes > 0)).toBe(true)
  }

  it('four processes that write, register and archive at once leave counts equal to rows and outbox', async () => {
    const business = ++lastBusiness
    let writing = true
    const archiver = (async () => {
      for (let step = 0; writing; step++) {
        await stores[step % 4]?.archiveMarks(NOW + step * 4, 40)
        await stores[step % 4]?.purgeUndone(NOW + step * 2, 10)
        await stores[(step + 1) % 4]?.registerSubjects(
          subjectsOf(business).map((subject, i) => ({ ...subject, owner: `o${(i + step) % 3}` })),
        )
      }
    })()
    await Promise.all(
      stores.map(async (store, writer) => {
        for (let round = 0; round < 25; round++) {
          const rows = someRows(business, round, writer + 1)
          await store.applyMarks(round % 2 === 0 ? rows : rows.toReversed(), [{ stream: 's', partition: writer, offset: round }])
        }
      }),
    )
    writing = false
    await archiver
    await expectNoDrift(business)
    expect((await stores[0]?.getOffsets('s'))?.map(({ offset }) => offset)).toEqual([24, 24, 24, 24])
    // Again with everything archived.
    while (((await stores[0]?.archiveMarks(NOW + 10_000, 500)) ?? 0) > 0);
    await expectNoDrift(business)
    const left = await test.database.send(`SELECT COUNT(*) FROM likes WHERE business = ${business} AND mark <> 0`)
    expect(Number(left.rows[0]?.[0])).toBe(0)
  })

  it('a row that another writer has inserted since the read is counted once', async () => {
    const business = ++lastBusiness
    const [store, , , held] = stores as [MysqlMarkRecords, MysqlMarkRecords, MysqlMarkRecords, MysqlMarkRecords]
    const row: MarkRow = { key: { viewer: '1', business, oid: 'v0' }, record: { mark: 'LIKE', markedAt: NOW, version: 1 } }
    const before = held.figures().retries
    let first = true
    proxy.setJudge(async (sql): Promise<Verdict> => {
      if (first && sql.startsWith('INSERT INTO likes')) {
        first = false
        await store.applyMarks([row], [])
      }
      return 'pass'
    })
    const later: MarkRow = { key: row.key, record: { mark: 'DISLIKE', markedAt: NOW + 1, version: 2 } }
    const { changes } = await held.applyMarks([later], [])
    proxy.setJudge(() => 'pass')
    expect(changes?.transitions).toMatchObject([{ old: 'LIKE', record: { mark: 'DISLIKE' } }])
    expect(held.figures().retries).toBe(before + 1)
    expect(await store.getCountsMany([{ business, oid: 'v0' }])).toEqual([{ likes: 0, dislikes: 1, version: 2 }])
  })

  it('a transaction that meets a concurrent one is rolled back before it is repeated', async () => {
    const business = ++lastBusiness
    const [store] = stores as [MysqlMarkRecords]
    const held = await openMysqlMarkRecords({ url: proxy.url, regions: 100, rowsMax: 1, connectionsMax: 1 })
    const rows = ['v0', 'v1'].map((oid): MarkRow => ({
      key: { viewer: '1', business, oid },
      record: { mark: 'LIKE', markedAt: NOW, version: 1 },
    }))
    let inserts = 0
    proxy.setJudge(async (sql): Promise<Verdict> => {
      // The first of its rows is written, and the second is next.
      if (sql.startsWith('INSERT INTO likes') && ++inserts === 2) await store.applyMarks(rows.slice(1), [])
      return 'pass'
    })
    const { changes } = await held.applyMarks(rows, [])
    proxy.setJudge(() => 'pass')
    await held.close()
    expect(changes?.transitions.map(({ key }) => key.oid)).toEqual(['v0'])
    await expectNoDrift(business)
  })

  it('a row that was inserted and archived since the read is counted once', async () => {
    const business = ++lastBusiness
    const [store, , , held] = stores as [MysqlMarkRecords, MysqlMarkRecords, MysqlMarkRecords, MysqlMarkRecords]
    const key = { viewer: '1', business, oid: 'v0' }
    let first = true
    proxy.setJudge(async (sql): Promise<Verdict> => {
      if (first && sql.startsWith('INSERT INTO likes')) {
        first = false
        await store.applyMarks([{ key, record: { mark: 'LIKE', markedAt: NOW, version: 1 } }], [])
        await store.archiveMarks(NOW + 1, 10)
      }
      return 'pass'
    })
    const { changes } = await held.applyMarks([{ key, record: { mark: 'NONE', markedAt: NOW + 1, version: 2 } }], [])
    proxy.setJudge(() => 'pass')
    expect(changes?.transitions).toMatchObject([{ old: 'LIKE', record: { mark: 'NONE' } }])
    expect(await store.getCountsMany([{ business, oid: 'v0' }])).toEqual([{ likes: 0, dislikes: 0, version: 2 }])
    expect(await store.purgeUndone(NOW + 10, 10)).toBe(0)
    expect(await store.listMarks('1', business, ['LIKE'], undefined, 10)).toEqual([])
  })

  it('a commit with a lost answer may be repeated: nothing counts twice, and the outbox has it once', async () => {
    const business = ++lastBusiness
    const held = stores[3] as MysqlMarkRecords
    const rows = someRows(business, 1, 9)
    let cuts = 0
    proxy.setJudge((sql) => (sql === 'COMMIT' && cuts++ === 0 ? 'cut' : 'pass'))
    const offsets = [{ stream: 'lost', partition: 0, offset: 7 }]
    await expect(held.applyMarks(rows, offsets)).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    await until('the commit is done', async () => (await held.getOffsets('lost')).length === 1)
    const again = await held.applyMarks(rows, offsets)
    expect(again.changes).toBeUndefined()
    expect(again.stored).toEqual(rows.map(({ record }) => record))
    expect((await held.listOutbox(100_000)).filter(({ counts }) => counts[0]?.business === business)).toHaveLength(1)
    await expectNoDrift(business)
  })

  it('a connection lost during a transaction leaves nothing of it', async () => {
    const business = ++lastBusiness
    const held = stores[3] as MysqlMarkRecords
    const rows = someRows(business, 1, 11)
    for (const middle of ['INSERT INTO likes', 'INSERT INTO counts', 'INSERT INTO offsets', 'INSERT INTO outbox']) {
      let cuts = 0
      proxy.setJudge((sql) => (sql.startsWith(middle) && cuts++ === 0 ? 'cut' : 'pass'))
      await expect(held.applyMarks(rows, [{ stream: 'middle', partition: 0, offset: 1 }])).rejects.toMatchObject({
        code: 'RECORD_STORE_UNAVAILABLE',
      })
      expect(await stores[0]?.getCountsMany(subjectsOf(business))).toEqual(
        subjectsOf(business).map(() => ({ likes: 0, dislikes: 0, version: 0 })),
      )
      expect(await held.getOffsets('middle')).toEqual([])
    }
    proxy.setJudge(() => 'pass')
    expect((await held.applyMarks(rows, [])).changes?.counts.every(({ counts }) => counts.version === 1)).toBe(true)
    await expectNoDrift(business)
  })

  it('connections killed by the server cause repetitions and lose no mark', async () => {
    const business = ++lastBusiness
    let writing = true
    let failures = 0
    const killer = (async () => {
      while (writing) {
        await sleep(30)
        const { rows } = await test.database.send('SHOW PROCESSLIST')
        const busy = rows.filter(
          (row) => String(row[3]) === new URL(test.url).pathname.slice(1) && /likes|counts|outbox/.test(String(row[7])),
        )
        for (const [id] of busy.slice(0, 1)) await test.database.send(`KILL ${String(id)}`).catch(() => undefined)
      }
    })()
    await Promise.all(
      stores.map(async (store, writer) => {
        for (let round = 0; round < 25;) {
          try {
            await store.applyMarks(someRows(business, round, writer + 1), [])
            round += 1
          } catch (error) {
            expect(error).toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
            failures += 1
          }
        }
      }),
    )
    writing = false
    await killer
    expect(failures).toBeGreaterThan(0)
    await expectNoDrift(business)
  })
})
