import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { openMysqlMarkRecords } from '../../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { readMarkedSubjects } from '../../../../../subgraphs/thumbup/stores/mysql/lists.ts'
import { packKey, packSubject } from '../../../../../subgraphs/thumbup/stores/mysql/rows.ts'
import * as statements from '../../../../../subgraphs/thumbup/stores/mysql/statements.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'
import { placed } from '../../../../../stores/mysql/tuples.ts'

const NOW = 1_700_000_000_000
const HOUR = Math.floor(NOW / 3_600_000)
const keys = placed(Array.from({ length: 128 }, (_, i) => packKey({ viewer: String(i), business: 1, oid: String(i % 7) }).tuple))
const subjects = placed(Array.from({ length: 128 }, (_, i) => packSubject({ business: 1, oid: String(i % 20) }).tuple))
const lists = subjects.map(([place = '', business = '', id = '']) => [place, '1', business, id])
const place = { at: String(NOW - 3), id: idLiteral('5') }

describe.skipIf(mariadb === undefined)('the plans of MariaDB for marks', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    const store = await openMysqlMarkRecords({ url: test.url, regions: 100 })
    const rows = Array.from({ length: 8_000 }, (_, i) => ({
      key: { viewer: String(i % 400), business: 1 + (i % 2), oid: String(Math.floor(i / 400)) },
      record: { mark: i % 5 === 0 ? ('DISLIKE' as const) : ('LIKE' as const), markedAt: NOW - (i % 11), version: NOW * 1024 },
    }))
    await store.applyMarks(rows, [])
    await store.archiveMarks(NOW - 5, 4_000)
    await store.close()
    await test.database.send('ANALYZE TABLE likes, counts, mark_blocks')
  })
  afterAll(async () => test?.drop())

  /** The steps that read our tables: type, key, extra. */
  async function plan(sql: string): Promise<{ type: string; key: string; extra: string }[]> {
    const { rows } = await test.database.send(`EXPLAIN ${sql}`)
    return rows
      .map((row) => ({ table: String(row[2]), type: String(row[3]), key: String(row[5]), extra: String(row[9]) }))
      .filter(({ table }) => ['l', 'c', 's', 'm', 'x', 'likes', 'counts', 'owners', 'mark_blocks'].includes(table))
  }

  it.each([
    ['a lookup', statements.selectMarks(keys)],
    ['a locking read', statements.lockMarks(keys)],
    ['a removal', statements.deleteMarks(keys)],
    ['counts', statements.selectCounts(subjects)],
  ])('%s of many keys reads each by the primary key', async (_name, sql) => {
    expect(await plan(sql)).toEqual([expect.objectContaining({ type: 'eq_ref', key: 'PRIMARY' })])
  })

  it.each([
    ['a viewer', { side: 0, business: '1', id: idLiteral('6') } as const, 'likes_of_viewer'],
    ['a subject', { side: 1, business: '1', id: idLiteral('6') } as const, 'likes_of_subject'],
  ])('a page of %s, even from the middle of a tie, is in the order of its index', async (_name, list, index) => {
    for (const before of [undefined, place]) {
      const steps = await plan(statements.selectPageOfMarks(list, [1, 2], before, 20))
      expect(steps.map(({ key }) => key)).toEqual([index, index, 'PRIMARY'])
      for (const { extra } of steps) expect(extra).not.toContain('filesort')
    }
    for (const after of [undefined, place]) {
      const [step, ...others] = await plan(statements.selectPageOfBlocks(list, place, after, 4))
      expect(step).toMatchObject({ key: 'PRIMARY', extra: expect.not.stringContaining('filesort') })
      expect(others).toEqual([])
    }
  })

  it('blocks from a time on are a range of the primary key', async () => {
    const moments = lists.map((list) => [...list, String(NOW - 3)])
    for (const sql of [statements.selectBlocksFrom(moments), statements.selectBlocksAround(moments), statements.selectBlocks(lists)])
      for (const { type, key } of await plan(sql)) expect([type, key]).toEqual([expect.stringMatching(/^(ref|range|eq_ref)$/), 'PRIMARY'])
  })

  it('a recount reads only the index of the subject', async () => {
    const [step, ...others] = await plan(statements.countRows(subjects))
    expect(step).toMatchObject({ type: 'ref', key: 'likes_of_subject', extra: expect.stringContaining('Using index') })
    expect(others).toEqual([])
  })

  it.each(['archivable', 'removable'] as const)('%s rows are a range of their index, without sorting', async (what) => {
    for (const sql of [statements.selectAged(what, HOUR, 100), statements.selectAgedOfHour(what, HOUR, NOW, 20_000, 100)])
      for (const { key, extra } of await plan(sql)) {
        expect(key).toBe('likes_aged')
        expect(extra).not.toContain('filesort')
      }
  })

  it('a page of marked subjects reads only its entries of two indexes, and the next page continues behind its last subject', async () => {
    for (const after of [undefined, idLiteral('7')]) {
      const steps = await plan(statements.selectMarkedSubjects('1', after, 100))
      expect(steps.map(({ key }) => key)).toEqual(['likes_of_subject', 'PRIMARY'])
      for (const { extra } of steps) expect(extra).not.toContain('filesort')
    }
    // One subject in the middle is completely archived. All others have no block in the archive.
    const all = Array.from({ length: 10 }, (_, oid) => String(oid))
    const store = await openMysqlMarkRecords({ url: test.url, regions: 100 })
    const rows = all.flatMap((oid) =>
      ['1', '2', '3'].map((viewer) => ({
        key: { viewer, business: 5, oid },
        record: { mark: 'LIKE' as const, markedAt: oid === '6' ? NOW - 100 : NOW, version: NOW },
      })),
    )
    await store.applyMarks(rows, [])
    expect(await store.archiveMarks(NOW - 50, 100)).toBe(3)
    await store.close()
    for (const [limit, scanned] of [
      [100, 1_000],
      [100, 5],
      [100, 1],
      [2, 7],
    ] as const) {
      const found: string[] = []
      const next = () => readMarkedSubjects(test.database, 5, found.at(-1), limit, scanned)
      for (let page = await next(); page.length > 0; page = await next()) found.push(...page)
      expect(found).toEqual(all)
    }
  })

  it('an export is a range of the primary key', async () => {
    const after = { viewer: idLiteral('7'), oid: idLiteral('3') }
    expect(await plan(statements.selectExport('1', after, 100))).toMatchObject([
      { type: 'range', key: 'PRIMARY', extra: expect.not.stringContaining('filesort') },
    ])
  })
})
