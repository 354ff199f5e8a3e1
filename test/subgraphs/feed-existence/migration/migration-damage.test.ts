/** Damaged filters of migrated viewers: plays that only the legacy store knows are not lost with them. */
import { describe, expect, test } from 'vitest'
import { MARK_MONTH } from '../../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { filterKeyBytes } from '../../../../subgraphs/feed-existence/stores/lmdb/filter-values.ts'
import { RUBBISH } from '../../../contracts/feed-existence/record-store-damage.ts'
import { makeExistenceFold } from '../../../../subgraphs/feed-existence/index.ts'
import { seededRandom } from '../../../../core/random.ts'
import { verifyViewer } from '../../../../cli/migrate/migration-verify.ts'
import { liveness } from '../../../../subgraphs/feed-existence/migration/legacy.ts'
import { CANDIDATES, LEFT, SET, START, isHere, isMigrated, list, makeMoving } from './moving.ts'
import { viewerOf, type Opened } from '../opened.ts'
import { legacyConfig, openLegacyOf } from './legacy-store.ts'
import { until } from '../../../../harness/until.ts'

const moving = makeMoving()
const MONTH = monthOf(START)

/** Flips one bit of the filter. */
async function damage(opened: Opened, viewer: string): Promise<void> {
  const key = { viewer, month: MONTH }
  const [stored] = await opened.plain.records.getFilters([key])
  const filter = Buffer.from(stored?.filter ?? Buffer.of(0xf1, 0, 0, 0, 0, 0x11))
  filter.writeUInt8(filter.readUInt8(filter.length - 1) ^ 1, filter.length - 1)
  expect(await opened.plain.records.putFilters([{ ...key, filter, expected: stored?.version ?? 0, expiresAt: 2 * START }])).toEqual([true])
}

describe.skipIf(!isHere)('a damaged filter', () => {
  test('of a migrated viewer restores reads of the legacy store at once, and the viewer is migrated again', async () => {
    const { opened, served } = moving.open({ absentMs: 0 })
    await moving.redis.fill('7', SET)
    await list(opened, ['7'])
    await served.afterHours(await moving.startJob(opened, served))
    expect(await isMigrated(opened, '7')).toBe(true)
    await damage(opened, '7')

    // Another process with an empty memory: first with the damaged filter, then with the rebuilt filter.
    const next = moving.serve(opened, { absentMs: 0 })
    const query = 'query ($of: [ID!]!) { unseen(business: "video", candidates: $of) { ids } }'
    expect((await next.ask(query, viewerOf('7'), { of: CANDIDATES })).data.unseen.ids).toEqual([...LEFT, 'played'])
    await until('the started work has ended', () => next.subgraph.figures().repairs.repaired === 1)
    expect(await isMigrated(opened, '7')).toBe(false)
    expect(await next.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])

    await next.afterHours(await moving.startJob(opened, next))
    expect(await isMigrated(opened, '7')).toBe(true)
    await moving.redis.clear()
    expect(await moving.serve(opened).unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
  })

  test('of a migrated viewer without a legacy set is reported with the number of lost plays, and damage of other viewers is not', async () => {
    const { opened, served } = moving.open({ absentMs: 0, writeBack: false })
    await moving.redis.fill('7', SET)
    await moving.redis.fill('8', SET)
    await list(opened, ['7', '8', '9'])
    const job = await moving.startJob(opened, served)
    await served.afterHours(job)
    for (const viewer of ['7', '8', '9']) await damage(opened, viewer)
    await moving.redis.client.del('played:video:7')
    const next = moving.serve(opened, { absentMs: 0, writeBack: false })
    const query = '{ unseen(business: "video", candidates: ["now"]) { ids } }'
    for (const viewer of ['7', '8', '9']) await next.ask(query, viewerOf(viewer))
    await until('the started work has ended', () => next.subgraph.figures().repairs.repaired === 3)
    served.errors.length = 0
    await served.afterHours(job)
    for (const viewer of ['7', '8', '9']) expect(await isMigrated(opened, viewer)).toBe(true)
    expect(served.errors.map(String)).toEqual([expect.stringMatching(/had 4 plays, is gone.*--verify-only --repair/)])
    expect(served.subgraph.figures().legacy?.migration).toMatchObject({ gone: 1 })
  })

  test('that is rebuilt between two reads of a reader does not leave the reader with the old mark', async () => {
    const { opened, served } = moving.open({ absentMs: 0 })
    await moving.redis.fill('7', SET)
    await list(opened, ['7'])
    await served.afterHours(await moving.startJob(opened, served))
    const next = moving.serve(opened, { absentMs: 0 })
    let looks = 0
    opened.before('records.getFilters', async () => {
      if (++looks !== 2) return
      await damage(opened, '7')
      const { repair } = makeExistenceFold(opened.clock, opened.plain, legacyConfig(moving.redis.url), seededRandom(1))
      expect(await repair({ viewer: '7', month: MONTH })).toBe(true)
    })
    expect(await next.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
    expect(looks).toBe(3)
    opened.before('records.getFilters', undefined)
  })

  test('that is rebuilt between the fold and the mark of its viewer has the viewer folded again', async () => {
    const { opened, served } = moving.open({ writeBack: false })
    await moving.redis.fill('7', SET)
    await list(opened, ['7'])
    let writes = 0
    opened.before('records.putFilters', async () => {
      if (++writes !== 2) return
      await damage(opened, '7')
      const { repair } = makeExistenceFold(opened.clock, opened.plain, legacyConfig(moving.redis.url), seededRandom(1))
      expect(await repair({ viewer: '7', month: MONTH })).toBe(true)
    })
    await served.afterHours(await moving.startJob(opened, served))
    opened.before('records.putFilters', undefined)
    expect(writes).toBeGreaterThan(2)
    expect(await isMigrated(opened, '7')).toBe(true)
    await moving.redis.clear()
    expect(await served.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
  })

  test('of one viewer is reported by the verification, which still checks the other viewers', async () => {
    const { opened, served } = moving.open({ absentMs: 0 })
    for (const viewer of ['7', '8']) await moving.redis.fill(viewer, SET)
    await list(opened, ['7', '8'])
    await served.afterHours(await moving.startJob(opened, served))
    await damage(opened, '7')
    const config = legacyConfig(moving.redis.url)
    const legacy = openLegacyOf(opened, config)
    moving.closing.push(() => legacy.close())
    const rules = { ...config.existence, isLive: liveness(opened.clock, config.existence) }
    const sources = { hot: opened.plain.hot, records: opened.plain.records, legacy }
    expect(await verifyViewer(opened.clock, sources, '7', 1, rules)).toMatchObject({
      isMigrated: true,
      mistake: expect.stringMatching(/^DATA_DAMAGED: viewer "7": a filter/),
    })
    expect(await verifyViewer(opened.clock, sources, '8', 1, rules)).toMatchObject({ isMigrated: true, missing: [], mistake: undefined })
  })

  test('of a viewer in migration is rebuilt, and the viewer is migrated', async () => {
    const { opened, served } = moving.open({ writeBack: false })
    await moving.redis.fill('7', SET)
    await damage(opened, '7')
    await list(opened, ['7'])
    await served.afterHours(await moving.startJob(opened, served))
    expect(await isMigrated(opened, '7')).toBe(true)
    expect(await opened.plain.records.listQuarantined(10)).toHaveLength(1)
    await moving.redis.clear()
    expect(await served.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
    expect(served.errors.map(String)).toEqual([expect.stringContaining('must be rebuilt')])
  })
})

describe.skipIf(!isHere)('a damaged mark', () => {
  test.each(Object.entries(RUBBISH))(
    'of %s means not migrated: the legacy store is asked, and a new listing migrates the viewer again',
    async (_, bytes) => {
      const { opened, served } = moving.open({ absentMs: 0, writeBack: false })
      await moving.redis.fill('7', SET)
      await list(opened, ['7', '8'])
      const job = await moving.startJob(opened, served)
      await served.afterHours(job)
      const key = filterKeyBytes({ viewer: '7', month: MARK_MONTH })
      await opened.environment.write(() => void opened.environment.table('seen-filters').put(key, bytes))
      expect([await isMigrated(opened, '7'), await isMigrated(opened, '8')]).toEqual([false, true])

      const next = moving.serve(opened, { absentMs: 0, writeBack: false })
      const query = 'query ($of: [ID!]!) { unseen(business: "video", candidates: $of) { ids } }'
      const asked = () => next.subgraph.figures().legacy?.reads.asked
      expect(await next.ask(query, viewerOf('7'), { of: [...CANDIDATES, 'none'] })).toMatchObject({ errors: [], degraded: [] })
      expect(asked()).toBe(1)
      await list(opened, ['7'])
      await served.afterHours(job)
      expect(await isMigrated(opened, '7')).toBe(true)
      await moving.redis.clear()
      expect(await moving.serve(opened).unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
      expect(served.errors).toEqual([])
    },
  )
})
