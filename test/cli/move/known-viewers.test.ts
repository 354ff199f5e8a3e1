/** Imports into stores that know the viewer already: newer states stay, and pages show every row of the record store. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportData } from '../../../cli/move/export.ts'
import { importData } from '../../../cli/move/import.ts'
import { persistWaiting, putProgressRows, putSettingsRows } from '../../../cli/move/put-history.ts'
import { putRows, targetOf } from '../../../cli/move/put-rows.ts'
import type { OpenStores } from '../../../cli/stores/history.ts'
import { readSettings } from '../../../cli/process/settings.ts'
import { systemClock } from '../../../core/clock.ts'
import { readLikes } from '../../../subgraphs/thumbup/read/likes.ts'
import { keyOf, report } from '../../contracts/reports.ts'
import { fill, likeClean, persist, written, putMark, markOf, purgeAll } from '../../contracts/thumbup/marks.ts'
import { NOW, REGIONS, makeTestFolder, withStores, type TestFolder } from './stored.ts'

const ALL_REGIONS = Array.from({ length: REGIONS }, (_, region) => region)
let here: TestFolder
let folders = 0
beforeAll(() => {
  here = makeTestFolder()
})
afterAll(() => here.remove())

const freshFlags = () => here.flags(`data-${(folders += 1)}`)
const targetIn = ({ hot, records }: OpenStores, timelineCap = 100) => ({ hot, records, timelineCap, regions: REGIONS, now: () => NOW })
const listed = async ({ hot }: OpenStores) => (await hot.listTimeline('9', [1], undefined, 100)).entries.map(({ oid }) => oid)

/** A report at its own time, persisted. */
async function view(stores: OpenStores, oid: string, viewedAt: number, timelineCap = 100): Promise<void> {
  const write = { ...keyOf('9', oid), record: report(viewedAt), decisive: true, base: null }
  await stores.hot.putProgress([write], { now: viewedAt, timelineCap })
  await persistWaiting({ ...targetIn(stores, timelineCap), now: () => viewedAt })
}

function row(oid: string, viewedAt: number, fields: Parameters<typeof report>[1] = {}) {
  return { key: keyOf('9', oid), record: report(viewedAt, { version: viewedAt * 1_024, ...fields }) }
}

describe('history', () => {
  test('a viewer who paused before the first export and resumed before the second has the history of both', async () => {
    const [source, target] = [freshFlags(), freshFlags()]
    const move = async (name: string, since?: number) => {
      await exportData({ form: 'jsonl', out: here.path(name), ...(since !== undefined && { since }), ...source }, () => {})
      expect(await importData(here.path(name), { ...target, verify: true }, () => {})).toBe(true)
    }
    await withStores(source, async (stores) => {
      await view(stores, '1', NOW)
      await stores.hot.setPaused('9', true, NOW + 1_000)
      await persistWaiting(targetIn(stores))
    })
    await move('paused')
    await withStores(target, async ({ hot }) => expect((await hot.getSettings('9')).paused).toBe(true))
    await withStores(source, async (stores) => {
      await stores.hot.setPaused('9', false, NOW + 2_000)
      await view(stores, '2', NOW + 3_000)
    })
    await move('resumed', NOW * 1_024)
    await withStores(target, async (stores) => {
      expect(await listed(stores)).toEqual(['2', '1'])
      expect((await stores.hot.getSettings('9')).paused).toBe(false)
      expect(await stores.hot.countDirty()).toBe(0)
    })
  })

  test('rows of a viewer who paused in the target are on pages, and the pause stays', async () => {
    await withStores(freshFlags(), async (stores) => {
      await stores.hot.setPaused('9', true, NOW)
      await persistWaiting(targetIn(stores))
      await putProgressRows(targetIn(stores), [row('1', NOW)])
      expect(await listed(stores)).toEqual(['1'])
      expect((await stores.hot.getSettings('9')).paused).toBe(true)
    })
  })

  test('a clearing removes older visits although the target has a newer one', async () => {
    await withStores(freshFlags(), async (stores) => {
      await view(stores, 'older', NOW)
      await view(stores, 'newer', NOW + 9_000)
      const settings = { paused: false, clearedAt: { 1: NOW + 5_000 }, version: (NOW + 5_000) * 1_024 }
      await putSettingsRows(targetIn(stores), [{ viewer: '9', settings }])
      expect(await listed(stores)).toEqual(['newer'])
      await view(stores, 'offline', NOW + 5_000)
      expect(await listed(stores)).toEqual(['newer'])
    })
  })

  test('an older tombstone, or an older visit, leaves a newer visit that only the record store has', async () => {
    await withStores(freshFlags(), async (stores) => {
      const cap = 3
      for (const [at, oid] of ['deleted', 'viewed', '1', '2', '3'].entries()) await view(stores, oid, NOW + at * 1_000, cap)
      expect(await listed(stores)).toEqual(['3', '2', '1'])
      const nothing = { since: NOW - 5, rank: 0, position: 0, duration: 0, device: '', deleted: true }
      await putProgressRows(targetIn(stores, cap), [row('deleted', NOW - 5, nothing), row('viewed', NOW - 5, { position: 1 })])
      await persistWaiting(targetIn(stores, cap))
      const keys = [keyOf('9', 'deleted'), keyOf('9', 'viewed')]
      const rows = await stores.records.getProgressMany(keys)
      expect(rows.map((each) => [each?.viewedAt, each?.deleted])).toEqual([
        [NOW, false],
        [NOW + 1_000, false],
      ])
      expect(await listed(stores)).toEqual(['3', '2', '1'])
    })
  })
})

describe('marks', () => {
  const likeRow = (id: string, markedAt: number) =>
    ({ viewer: '9', business: 'video', id, mark: 'LIKE', markedAt, version: markedAt * 1_024 }) as const
  const importTo = async (flags: ReturnType<typeof freshFlags>, stores: OpenStores, rows: readonly ReturnType<typeof likeRow>[]) =>
    putRows(targetOf(stores, readSettings(flags, {}), systemClock, undefined), 'mark', rows)

  test('a like above the floor of a truncated viewer is on the page of likes', async () => {
    const flags = freshFlags()
    await withStores(flags, async (stores) => {
      const { hot, records } = stores.marks
      await fill(hot, '9', [], { cap: 3 })
      const likes = await likeClean(hot, '9', ['1', '2', '3', '4', '5', '6'], 3)
      const rows = likes.map((record, at) => ({ key: keyOf('9', String(at + 1)), record }))
      await records.applyMarks(rows, [])
      const between = (likes[4]?.markedAt ?? 0) + 1
      await importTo(flags, stores, [likeRow('8', between)])
      const page = await readLikes({ hot, records, fills: { bring: async () => {} } }, '9', 1, undefined, 20, new Set())
      expect(page?.entries.map(({ id }) => id)).toEqual(['6', '8', '5', '4', '3', '2', '1'])
      expect(await hot.countDirtyMarks()).toBe(0)
    })
  })

  test('a like of a known viewer is shown although it is older than a mark that has left memory', async () => {
    const flags = freshFlags()
    await withStores(flags, async (stores) => {
      const { hot, records } = stores.marks
      await fill(hot, '9')
      for (const mark of ['LIKE', 'NONE'] as const) {
        written(await putMark(hot, markOf('9', '7', mark, NOW + (mark === 'NONE' ? 1 : 0))))
        await persist(hot, [keyOf('9', '7')])
      }
      expect(await purgeAll(hot, ALL_REGIONS, NOW * 2)).toBe(1)
      await importTo(flags, stores, [likeRow('8', NOW - 1_000)])
      for (let time = 0; time < 2; time++) {
        expect((await records.getCountsMany([{ business: 1, oid: '8' }]))[0]?.likes).toBe(1)
        expect(await hot.getMarkMany([keyOf('9', '8')])).toEqual([{ mark: 'LIKE', counted: 'LIKE', pending: false }])
        expect((await hot.listLikes('9', 1, undefined, 10)).entries.map(({ id }) => id)).toEqual(['8'])
        await importTo(flags, stores, [likeRow('8', NOW - 1_000)])
      }
    })
  })

  test('likes of one import are all shown, although the first ones trim the list', async () => {
    const flags = freshFlags()
    await withStores(flags, async (stores) => {
      const { hot, records } = stores.marks
      const likesCap = readSettings(flags, {}).businesses.find(({ number }) => number === 1)?.thumbup.likesCap as number
      await fill(hot, '9')
      const oids = Array.from({ length: likesCap }, (_, at) => String(at + 10))
      const likes = oids.map((oid, at) => markOf('9', oid, 'LIKE', NOW + at))
      const outcomes = await hot.putMarks([...likes, markOf('9', '7', 'LIKE', NOW + 8_000)], { now: NOW, cap: likesCap })
      await records.applyMarks(
        outcomes.slice(0, -1).map((outcome, at) => ({ key: keyOf('9', oids[at] as string), record: written(outcome).record })),
        [],
      )
      await putMark(hot, markOf('9', '7', 'NONE', NOW + 9_000), likesCap)
      await persist(
        hot,
        [...oids, '7'].map((oid) => keyOf('9', oid)),
        likesCap,
      )
      await purgeAll(hot, ALL_REGIONS, NOW * 2)

      await importTo(flags, stores, [likeRow('above', NOW + 9_500), likeRow('below', NOW + 8_500)])
      const { entries } = await hot.listLikes('9', 1, undefined, 3)
      expect(entries.map(({ id }) => id)).toEqual(['above', 'below', oids.at(-1)])
      expect(await hot.countDirtyMarks()).toBe(0)
    })
  })
})
