/** The migration on Redis and MariaDB: the same answers before, during and after, with two jobs at once and one that is interrupted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { complete } from '../../../../core/outage/degraded.ts'
import { MARK_MONTH, decodeMark, listingOf } from '../../../../subgraphs/feed-existence/migration/progress.ts'
import { seededRandom } from '../../../../core/random.ts'
import { slotOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { openMysqlSeenRecords } from '../../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openRedisSeenStore } from '../../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import type { SeenRecords } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import type { SeenStore } from '../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeExistenceFold, makeExistenceMigration, makeExistenceSubgraph } from '../../../../subgraphs/feed-existence/index.ts'
import { migrateMysql } from '../../../../stores/mysql/schema-version.ts'
import { makeDatabase, mariadb } from '../../../stores/mysql/databases.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../../harness/deployment/redis-servers.ts'
import { startLegacy, type LegacyRedis } from '../../../../harness/samples/legacy-redis.ts'
import { REGIONS, SHAPE, openSeen, viewerOf } from '../opened.ts'
import { legacyConfig, openLegacyOf } from './legacy-store.ts'

const isHere = mariadb !== undefined && (await redisIsHere())
const DAY = 86_400_000
const closing: (() => Promise<unknown>)[] = []
let legacyRedis: LegacyRedis
let hotRedis: TestServers
let hot: SeenStore
let records: SeenRecords

beforeAll(async () => {
  if (!isHere) return
  legacyRedis = await startLegacy()
  hotRedis = await startRedis()
  hot = openRedisSeenStore({ urls: hotRedis.urls, regions: REGIONS, ...SHAPE })
  const database = await makeDatabase()
  await migrateMysql(database.database)
  records = await openMysqlSeenRecords({ url: database.url, regions: REGIONS })
  closing.push(
    () => legacyRedis.stop(),
    () => hotRedis.stop(),
    () => database.drop(),
    () => hot.close(),
    () => records.close(),
  )
})
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe.skipIf(!isHere)('migrated viewers, on Redis and MariaDB', () => {
  test('see the same before, during and after, regardless of the migrating job', async () => {
    const now = systemClock.now()
    const config = legacyConfig(legacyRedis.url, { patienceMs: 60_000 })
    const legacy = openLegacyOf({ clock: systemClock }, config)
    // The log is not used here: any log will do.
    const embedded = openSeen()
    closing.push(embedded.close, () => legacy.close())
    const stores = { hot, records, log: embedded.plain.log, legacy }
    const subgraph = makeExistenceSubgraph(systemClock, stores, config, (error) => expect(error).toBeUndefined())
    const viewers = Array.from({ length: 40 }, (_, at) => String(500 + at))
    const ids = Array.from({ length: 50 }, (_, at) => `old-${at}`)
    const candidates = [...ids, 'too old', 'new']
    for (const viewer of viewers) {
      await legacyRedis.fill(viewer, {
        ...Object.fromEntries(ids.map((id, at) => [id, now - (at % 60) * DAY])),
        'too old': now - 200 * DAY,
      })
    }
    const unseen = async (viewer: string) =>
      (await complete((without) => subgraph.service.unseen(viewerOf(viewer), 'video', candidates, [], without))).ids
    const all = () => Promise.all(viewers.map(unseen))
    const expected = viewers.map(() => ['too old', 'new'])
    expect(await all()).toEqual(expected)

    const slot = slotOf(now, SHAPE.slots)
    await hot.stagePlays(
      viewers.map((viewer) => listingOf(viewer, 1, now)),
      { now, slot },
    )
    const foldOf = (seed: number, cut: number) => {
      const migration = makeExistenceMigration(systemClock, stores, config, seededRandom(seed))?.makeMover()
      let moved = 0
      const migrate = async (viewer: string, businesses: readonly number[]) => {
        const isDone = (await migration?.migrate(viewer, businesses)) ?? false
        // The job ends before the listing of the viewer is removed.
        if (moved++ >= cut) throw new Error('gone')
        return isDone
      }
      return makeExistenceFold(systemClock, stores, config, seededRandom(seed), { migrate })
    }
    let isMoving = true
    const reading = (async () => {
      while (isMoving) expect(await all()).toEqual(expected)
    })()
    const cut = await foldOf(1, 10).fold(slot, viewers)
    expect(cut.failed).toHaveLength(30)
    const reports = await Promise.all([foldOf(2, 1_000).fold(slot, viewers), foldOf(3, 1_000).fold(slot, viewers)])
    expect(reports.map(({ failed, held }) => [failed, held])).toEqual([
      [[], undefined],
      [[], undefined],
    ])
    isMoving = false
    await reading

    const marks = await records.getFilters(viewers.map((viewer) => ({ viewer, month: MARK_MONTH })))
    expect(marks.every((mark) => decodeMark(mark?.filter).get(1)?.plays === 50)).toBe(true)
    expect((await hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(0)
    await legacyRedis.clear()
    expect(await all()).toEqual(expected)
    await subgraph.drain()
  })
})
