import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DamagedMarks } from '../../../../../subgraphs/thumbup/model/damaged-marks.ts'
import type { Mark, MarkEntry } from '../../../../../core/domain.ts'
import { compareEntries, decodeBlock } from '../../../../../subgraphs/thumbup/archive/block.ts'
import { randomBelow, seededRandom } from '../../../../../core/random.ts'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { type MysqlMarkRecords, openMysqlMarkRecords } from '../../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import type { MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'

const NOW = 1_700_000_000_000
const DAY_MS = 86_400_000
const BUSINESS = 1
const HOT = { business: BUSINESS, oid: 'hot' }

describe.skipIf(mariadb === undefined)('the archive on MariaDB', () => {
  let test: TestDatabase
  let store: MysqlMarkRecords
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    store = await openMysqlMarkRecords({ url: test.url, regions: 100 })
  })
  afterAll(async () => {
    await store?.close()
    await test?.drop()
  })

  async function blocksOf(side: 0 | 1, id: string): Promise<MarkEntry[][]> {
    const where = `business = ${BUSINESS} AND side = ${side} AND id = ${idLiteral(id)}`
    const { rows } = await test.database.send(`SELECT block, oldest_at, newest_at, likes, dislikes FROM mark_blocks WHERE ${where}
ORDER BY oldest_at DESC, oldest_id`)
    return rows.map(([block, oldestAt, newestAt, likes, dislikes]) => {
      const entries = decodeBlock(block as Buffer)
      expect([oldestAt, newestAt]).toEqual([entries.at(-1)?.markedAt, entries[0]?.markedAt])
      expect([likes, dislikes]).toEqual(['LIKE', 'DISLIKE'].map((mark) => entries.filter((entry) => entry.mark === mark).length))
      return entries
    })
  }

  it('stays in order for a subject and a viewer with thousands of marks after late, undone and repeated marks', async () => {
    const random = seededRandom(5)
    const model = new Map<string, { mark: Mark; markedAt: number }>()
    let version = 0
    const say = async (sayings: readonly { viewer: string; oid: string; mark: Mark; markedAt: number }[]): Promise<void> => {
      const byKey = new Map(sayings.map((saying) => [`${saying.viewer}/${saying.oid}`, saying]))
      const rows = [...byKey.values()].map(({ viewer, oid, mark, markedAt }): MarkRow => {
        version += 1
        return { key: { viewer, business: BUSINESS, oid }, record: { mark, markedAt, version } }
      })
      const { stored } = await store.applyMarks(rows, [])
      rows.forEach(({ key }, i) =>
        model.set(`${key.viewer}/${key.oid}`, { mark: stored[i]?.mark as Mark, markedAt: stored[i]?.markedAt as number }),
      )
    }
    for (let day = 0; day < 6; day++) {
      const dayAt = NOW + day * DAY_MS
      await say(
        Array.from({ length: 900 }, (_, i) => {
          const id = String(day * 700 + i)
          // One in thirty comes late, from a day that is already archived.
          const markedAt = i % 30 === 0 ? NOW + randomBelow(random, (day + 1) * DAY_MS) : dayAt + randomBelow(random, 50)
          const mark = i % 9 === 0 ? 'DISLIKE' : 'LIKE'
          return i % 2 === 0 ? { viewer: id, oid: 'hot', mark, markedAt } : { viewer: 'fan', oid: id, mark, markedAt }
        }),
      )
      const known = [...model.keys()]
      await say(
        Array.from({ length: 60 }, () => {
          const [viewer = '', oid = ''] = (known[randomBelow(random, known.length)] as string).split('/')
          return { viewer, oid, mark: (['NONE', 'LIKE', 'DISLIKE'] as const)[randomBelow(random, 3)] as Mark, markedAt: dayAt + 100 }
        }),
      )
      while ((await store.archiveMarks(dayAt + (day % 2 === 0 ? 25 : 1_000), 400)) > 0);
      expect(await store.recount([HOT])).toEqual([])
      const likers = [...model].flatMap(([key, { mark, markedAt }]) =>
        key.endsWith('/hot') && mark === 'LIKE' ? [{ id: key.split('/')[0] as string, markedAt }] : [],
      )
      expect(await store.listLikers(HOT, undefined, 10_000)).toEqual(likers.toSorted(compareEntries))
      for (const blocks of [await blocksOf(1, 'hot'), await blocksOf(0, 'fan')]) {
        const entries = blocks.flat()
        expect(entries.map(({ id, markedAt }) => ({ id, markedAt }))).toEqual(
          entries.map(({ id, markedAt }) => ({ id, markedAt })).toSorted(compareEntries),
        )
        expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
      }
    }
    expect((await blocksOf(1, 'hot')).length).toBeGreaterThan(2)
    const keys = [...model.keys()].map((key) => ({
      viewer: key.split('/')[0] as string,
      business: BUSINESS,
      oid: key.split('/')[1] as string,
    }))
    const records = await store.getMarkMany(keys)
    expect(records.map((record) => record && { mark: record.mark, markedAt: record.markedAt })).toEqual([...model.values()])
  })

  it('a mark of a hot subject is archived without reading all of its blocks', async () => {
    const row = (viewer: string, markedAt: number): MarkRow => ({
      key: { viewer, business: 2, oid: 'hot' },
      record: { mark: 'LIKE', markedAt, version: markedAt },
    })
    await store.applyMarks(
      Array.from({ length: 4_000 }, (_, i) => row(String(i), NOW + i)),
      [],
    )
    while ((await store.archiveMarks(NOW + 4_000, 2_000)) > 0);
    const addresses = async () =>
      (await test.database.send('SELECT oldest_at, likes FROM mark_blocks WHERE business = 2 AND side = 1 ORDER BY oldest_at')).rows
    const before = await addresses()
    expect(before.length).toBeGreaterThanOrEqual(4)
    // Unreadable bytes: a read of the oldest block fails.
    await test.database.send(`UPDATE mark_blocks SET block = x'00' WHERE business = 2 AND side = 1 AND oldest_at = ${NOW}`)
    await store.applyMarks([row('new', NOW + 9_000), row('3990', NOW + 9_001)], [])
    expect(await store.archiveMarks(NOW + 10_000, 100)).toBe(2)
    expect((await store.listLikers({ business: 2, oid: 'hot' }, undefined, 3)).map(({ id }) => id)).toEqual(['3990', 'new', '3999'])
    expect((await addresses())[0]).toEqual(before[0])
  })

  it('a damaged block names the affected viewers, and nothing of the call is written; without them all of it is', async () => {
    const row = (viewer: string, oid: string): MarkRow => ({
      key: { viewer, business: 4, oid },
      record: { mark: 'LIKE', markedAt: NOW + 1_000, version: 1 },
    })
    const viewers = ['7', '8', 'nine']
    const keysOf = (oid: string) => viewers.map((viewer) => ({ viewer, business: 4, oid }))
    await store.applyMarks(
      viewers.map((viewer) => ({ ...row(viewer, 'old'), record: { mark: 'LIKE', markedAt: NOW, version: 1 } })),
      [],
    )
    while ((await store.archiveMarks(NOW + 500, 100)) > 0);
    const ofTwo = `business = 4 AND side = 0 AND id IN (${idLiteral('7')}, ${idLiteral('nine')})`
    await test.database.send(`UPDATE mark_blocks SET block = CONCAT(LEFT(block, LENGTH(block) - 1), x'00') WHERE ${ofTwo}`)
    const rows = viewers.map((viewer) => row(viewer, 'new'))
    for (const call of [() => store.applyMarks(rows, []), () => store.getMarkMany(keysOf('old'))]) {
      const error: unknown = await call().catch((failure: unknown) => failure)
      expect(error).toBeInstanceOf(DamagedMarks)
      expect(viewers.map((viewer) => (error as DamagedMarks).concerns({ viewer, business: 4 }))).toEqual([true, false, true])
      expect((error as DamagedMarks).concerns({ viewer: '7', business: 1 })).toBe(false)
    }
    expect(await store.getCountsMany([{ business: 4, oid: 'new' }])).toMatchObject([{ likes: 0 }])
    expect((await store.applyMarks(rows.slice(1, 2), [])).changes?.transitions).toHaveLength(1)
    // Rows are found without reading blocks.
    expect((await store.getMarkMany([{ viewer: '8', business: 4, oid: 'new' }]))[0]?.mark).toBe('LIKE')
  })

  it('a page that is read while marks are archived misses none and lists none twice', async () => {
    const viewers = Array.from({ length: 600 }, (_, i) => String(i))
    await store.applyMarks(
      viewers.map((viewer, i) => ({
        key: { viewer, business: 3, oid: 'v' },
        record: { mark: 'LIKE', markedAt: NOW + (i % 7), version: 1 },
      })),
      [],
    )
    let archiving = true
    const archiver = (async () => {
      while ((await store.archiveMarks(NOW + 100, 20)) > 0);
      archiving = false
    })()
    let pages = 0
    for (; archiving; pages++) expect(await store.listLikers({ business: 3, oid: 'v' }, undefined, 1_000)).toHaveLength(600)
    await archiver
    expect(pages).toBeGreaterThan(3)
  })
})
