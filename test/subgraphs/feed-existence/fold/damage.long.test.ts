/** Filters damaged by a disk, on the record stores of both shapes: each is rebuilt, its viewer answered, and no other viewer delayed. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { monthOf, monthText } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { filterKeyBytes } from '../../../../subgraphs/feed-existence/stores/lmdb/filter-values.ts'
import { bytesLiteral } from '../../../../stores/mysql/literals.ts'
import { packFilterKey } from '../../../../subgraphs/feed-existence/stores/mysql/put.ts'
import { migrateMysql } from '../../../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import type { FilterKey, SeenRecords } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import { RUBBISH } from '../../../contracts/feed-existence/record-store-damage.ts'
import { makeDatabase, mariadb } from '../../../stores/mysql/databases.ts'
import { until } from '../../../../harness/until.ts'
import { openSeen, seenConfig, serveSeen, settle, viewerOf, type Opened } from '../opened.ts'

type Damaging = { records: SeenRecords; damage(key: FilterKey, bytes: Buffer): Promise<void> }

async function onLmdb(opened: Opened): Promise<Damaging> {
  const { environment, plain } = opened
  return {
    records: plain.records,
    damage: (key, bytes) => environment.write(() => void environment.table('seen-filters').put(filterKeyBytes(key), bytes)),
  }
}

async function onMariadb(): Promise<Damaging> {
  const { url, database, drop } = await makeDatabase()
  onTestFinished(drop)
  await migrateMysql(database)
  const records = await openMysqlSeenRecords({ url, regions: 100 })
  onTestFinished(records.close)
  return {
    records,
    async damage(key, bytes) {
      const [viewer, month] = packFilterKey(key).key
      await database.send(`UPDATE seen_filters SET filter = ${bytesLiteral(bytes)} WHERE viewer = ${viewer} AND month = ${month}`)
    },
  }
}

const SHAPES = [
  { shape: 'LMDB', isHere: true, openRecords: onLmdb },
  { shape: 'MariaDB', isHere: mariadb !== undefined, openRecords: onMariadb },
]
const CANDIDATES = ['known', 'unknown', 'staged', 'new']
const UNSEEN = `{ unseen(business: "video", candidates: ${JSON.stringify(CANDIDATES)}) { ids } }`
const VISIT = { since: 0, rank: 1, version: 1, position: 5, duration: 9, device: '', finished: true, deleted: false }

for (const { shape, isHere, openRecords } of SHAPES)
  describe.skipIf(!isHere)(`a damaged filter on ${shape}`, { timeout: 120_000 }, () => {
    /** Viewers of one shard, each with a filter of "known" and "unknown". History knows "known" as well. */
    async function open(viewers: readonly string[]) {
      const opened = openSeen({ shape: { slots: 6, shards: 2 } })
      onTestFinished(opened.close)
      const { records, damage } = await openRecords(opened)
      const served = serveSeen(opened, seenConfig({ shards: 2 }), { ...opened.stores, records })
      onTestFinished(served.stop)
      const viewedAt = opened.clock.now()
      for (const viewer of viewers) {
        await opened.history.putProgress([{ key: { viewer, business: 1, oid: 'known' }, record: { ...VISIT, viewedAt } }])
        await served.play(viewer, ['known', 'unknown'])
      }
      const job = await served.subgraph.startJob()
      onTestFinished(async () => {
        const stopped = job.stop()
        opened.clock.advance(3_600_000)
        await stopped
      })
      await served.afterHours(job)
      const month = monthOf(viewedAt)
      return { opened, served, job, records, month, damage: (viewer: string, bytes: Buffer) => damage({ viewer, month }, bytes) }
    }

    test.each(Object.entries(RUBBISH))('with %s: its reader gets a degraded answer, and it is rebuilt once', async (_, bytes) => {
      const { served, damage, records } = await open(['7'])
      await damage('7', bytes)
      const { repairs: before } = served.subgraph.figures()
      expect(await served.ask(UNSEEN, viewerOf('7'))).toEqual({
        data: { unseen: { ids: ['known', 'unknown', 'staged', 'new'] } },
        errors: [],
        degraded: ['recordStore'],
      })
      await until('the started work has ended', () => served.subgraph.figures().repairs.repaired === before.repaired + 1)
      await settle()
      for (let call = 0; call < 3; call++)
        expect(await served.ask(UNSEEN, viewerOf('7'))).toEqual({
          data: { unseen: { ids: ['unknown', 'staged', 'new'] } },
          errors: [],
          degraded: [],
        })
      expect(served.subgraph.figures().repairs).toEqual({ unreadable: before.unreadable + 1, repaired: before.repaired + 1 })
      expect(await records.listQuarantined(10)).toMatchObject([{ viewer: '7', reason: expect.stringContaining('a filter is damaged') }])
      // Reported once, with the result and without the viewer.
      expect(served.errors.map(String)).toEqual([expect.stringMatching(/found 1 subjects in history/)])
      expect(String(served.errors[0])).not.toMatch(/\b7\b/)
    })

    test('is shown as unreadable to an operator, which starts its rebuild', async () => {
      const { served, damage, month } = await open(['7'])
      await damage('7', Buffer.from('zz'))
      const why = async () =>
        (
          await served.ask(
            '{ whyHidden(business: "video", id: "known", viewer: "7") { hidden filters { month readable has bytes } } }',
            viewerOf('o', 'operator'),
          )
        ).data.whyHidden
      expect(await why()).toEqual({
        hidden: false,
        filters: [{ month: monthText(month), readable: false, has: false, bytes: expect.any(Number) }],
      })
      await until('the started work has ended', () => served.subgraph.figures().repairs.repaired === 1)
      expect(await why()).toMatchObject({ hidden: true, filters: [{ readable: true, has: true }] })
    })

    test('is rebuilt by the fold, which folds every viewer of the shard', async () => {
      const kinds = Object.values(RUBBISH)
      const viewers = Array.from({ length: 3 * kinds.length }, (_, at) => String(100 + 2 * at))
      const { opened, served, job, damage, records } = await open(viewers)
      // Every third viewer, so that good filters come before, between and after the damaged ones.
      for (const [at, bytes] of kinds.entries()) await damage(viewers[3 * at + 1] as string, bytes)
      for (const viewer of viewers) await served.play(viewer, ['staged'])
      await served.afterHours(job)
      expect(job.figures()).toMatchObject({ shardsLeft: 0, viewersFailed: 0, quarantined: kinds.length })
      expect((await opened.plain.hot.countRing()).every((count) => count === 0)).toBe(true)
      for (const [at, viewer] of viewers.entries())
        expect(await served.ask(UNSEEN, viewerOf(viewer)), viewer).toMatchObject({
          data: { unseen: { ids: at % 3 === 1 ? ['unknown', 'new'] : ['new'] } },
          degraded: [],
        })
      expect(await records.listQuarantined(100)).toHaveLength(kinds.length)
      expect(served.subgraph.figures().repairs).toEqual({ unreadable: 0, repaired: 0 })
    })
  })
