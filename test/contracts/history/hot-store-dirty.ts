/** Hot store contract: dirty marks, rewards that wait for the log, and expiry. */
import { expect, it } from 'vitest'
import type { DirtyWalk, ProgressKey } from '../../../core/domain.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import {
  fillClean,
  freshNamedViewer,
  freshViewer,
  freshViewerIn,
  keyOf,
  later,
  numbered,
  report,
  write,
  writtenRecord,
} from '../reports.ts'
import type { RewardEvent } from '../../../core/domain.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 100
const EVERYTHING = 10_000_000

export function dirtyMarksContract({ store, regions }: HotStoreSubject): void {
  const allRegions = (): number[] => [...Array(regions()).keys()]

  async function dirtyOids(viewer: string, dirtyBefore: number): Promise<string[]> {
    const keys = await store().listDirty([regionOf(viewer, regions())], dirtyBefore, EVERYTHING)
    return keys.filter((key) => key.viewer === viewer).map((key) => key.oid)
  }

  it('a written, a deleted and a settings key are dirty from their first change on', async () => {
    const viewer = freshNamedViewer()
    const before = await store().countDirty()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now)), write(viewer, '2', report(now))], { now, timelineCap })
    await store().deleteProgress([keyOf(viewer, '2'), keyOf(viewer, '3')], now + 1)
    await store().setPaused(viewer, true, now + 2)
    expect(await store().countDirty()).toBe(before + 4)
    expect(await dirtyOids(viewer, now - 1)).toEqual([])
    expect((await dirtyOids(viewer, now)).toSorted()).toEqual(['1', '2'])
    expect((await dirtyOids(viewer, now + 2)).toSorted()).toEqual(['1', '2', '3', 'settings'])
    const keys = await store().listDirty(allRegions(), now + 2, EVERYTHING)
    expect(keys).toContainEqual(settingsKey(viewer))
    later(1_000)
  })

  it('stale and paused reports leave no dirty mark', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await fillClean(store(), viewer, ['1'], timelineCap)
    const before = await store().countDirty()
    await store().putProgress([write(viewer, '1', report(now - 500))], { now, timelineCap })
    expect(await store().countDirty()).toBe(before)
    expect(await dirtyOids(viewer, later(5_000))).toEqual([])
  })

  it('a second change keeps the time of the first unpersisted change', async () => {
    const viewer = freshViewer()
    const first = later(1_000)
    const before = await store().countDirty()
    await store().putProgress([write(viewer, '1', report(first))], { now: first, timelineCap })
    const second = later(5_000)
    const [outcome] = await store().putProgress([write(viewer, '1', report(second))], { now: second, timelineCap })
    expect(await store().countDirty()).toBe(before + 1)
    expect(await dirtyOids(viewer, first)).toEqual(['1'])
    await store().clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(outcome).version }], timelineCap)
    expect(await dirtyOids(viewer, second)).toEqual([])
    const third = later(5_000)
    await store().putProgress([write(viewer, '1', report(third))], { now: third, timelineCap })
    expect(await dirtyOids(viewer, third - 1)).toEqual([])
    expect(await dirtyOids(viewer, third)).toEqual(['1'])
  })

  it('a dirty mark whose version has changed is not cleared, and keeps its time', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    const before = await store().countDirty()
    const [first] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const [second] = await store().putProgress([write(viewer, '1', report(now + 1))], { now: later(1_000), timelineCap })
    await store().clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(first).version }], timelineCap)
    expect(await dirtyOids(viewer, now)).toEqual(['1'])
    await store().clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(second).version }], timelineCap)
    expect(await dirtyOids(viewer, later(60_000))).toEqual([])
    expect(await store().countDirty()).toBe(before)
  })

  it('a deletion changes the version: a record read before it does not clear the dirty mark', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    const [written] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().deleteProgress([keyOf(viewer, '1')], later())
    await store().clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(written).version }], timelineCap)
    expect(await dirtyOids(viewer, later(1_000))).toEqual(['1'])
  })

  it('settings are marked, read and cleared like a key', async () => {
    const [viewer, untouched] = [freshViewer(), freshViewer()]
    const paused = await store().setPaused(viewer, true, later(1_000))
    const clearedAt = await store().clearProgress(viewer, 7, later())
    const [read, empty] = await store().readDirtySettings([viewer, untouched])
    expect(read).toEqual({ paused: true, clearedAt: { 7: clearedAt }, version: read?.version })
    expect(read?.version).toBeGreaterThan(paused.version)
    expect(empty).toEqual({ paused: false, clearedAt: {}, version: 0 })
    await store().clearDirty([{ key: settingsKey(viewer), version: paused.version }], timelineCap)
    expect(await dirtyOids(viewer, later(1_000))).toEqual(['settings'])
    await store().clearDirty([{ key: settingsKey(viewer), version: read?.version ?? 0 }], timelineCap)
    expect(await dirtyOids(viewer, later(1_000))).toEqual([])
    expect(await store().getSettings(viewer)).toEqual(read)
  })

  it('the persist step reads the current records, dirty or not, in key order', async () => {
    const viewer = freshViewer()
    const [clean] = await fillClean(store(), viewer, ['1'], timelineCap)
    const now = later(1_000)
    const [dirty] = await store().putProgress([write(viewer, '2', report(now))], { now, timelineCap })
    const [tombstone] = await store().deleteProgress([keyOf(viewer, '3')], later())
    const keys = ['3', 'none', '2', '1', '3'].map((oid) => keyOf(viewer, oid))
    expect(await store().readDirtyProgress(keys)).toEqual([
      { key: keys[0], record: tombstone?.record },
      { key: keys[1], record: undefined },
      { key: keys[2], record: writtenRecord(dirty) },
      { key: keys[3], record: clean },
      { key: keys[4], record: tombstone?.record },
    ])
  })

  it('dirty marks are listed for the given regions only, oldest first, up to the limit', async () => {
    const [here, there] = [freshViewerIn(0, regions()), freshViewerIn(1, regions())]
    await persistAll(store(), allRegions())
    const times: number[] = []
    for (const oid of numbered(6)) {
      const now = later(1_000)
      times.push(now)
      await store().putProgress([write(here, oid, report(now)), write(there, oid, report(now))], { now, timelineCap })
    }
    const last = times.at(-1) ?? 0
    const list = async (regionNumbers: number[], dirtyBefore: number, limit: number): Promise<string[]> =>
      (await store().listDirty(regionNumbers, dirtyBefore, limit)).map((key) => `${key.viewer === here ? 'here' : 'there'} ${key.oid}`)
    expect(await list([0], last, 4)).toEqual(['here 1', 'here 2', 'here 3', 'here 4'])
    expect(await list([0], times[1] ?? 0, 100)).toEqual(['here 1', 'here 2'])
    expect(await list([1], last, 2)).toEqual(['there 1', 'there 2'])
    expect(await list([], last, 100)).toEqual([])
    expect(await list([0, 1], last, 100)).toHaveLength(12)
    expect(await list([0, 1], last, 8)).toHaveLength(8)
    expect(await store().countDirty()).toBe(12)
  })

  it('a walk lists every key once, past keys that stay dirty, and ends with a short page', async () => {
    const [here, there] = [freshViewerIn(0, regions()), freshViewerIn(1, regions())]
    await persistAll(store(), allRegions())
    const now = later(1_000)
    const end = later(1_000)
    for (const viewer of [here, there]) {
      const writes = numbered(10).map((oid) => write(viewer, oid, report(now)))
      await store().putProgress(writes, { now, timelineCap })
      await store().putProgress([write(viewer, 'last', report(end))], { now: end, timelineCap })
    }
    const walk: DirtyWalk = {}
    const walked: ProgressKey[] = []
    for (let isLast = false; !isLast;) {
      const keys = await store().listDirty([0, 1], end, 7, walk)
      isLast = keys.length < 7
      walked.push(...keys)
      // Some are persisted on the way.
      const [first] = await store().readDirtyProgress(keys.slice(0, 1))
      if (first?.record !== undefined) await store().clearDirty([{ key: first.key, version: first.record.version }], timelineCap)
    }
    expect(new Set(walked.map(keyText)).size).toBe(22)
    expect(walked).toHaveLength(22)
    expect(await store().listDirty([0, 1], end, 7, walk)).toEqual([])
    expect(await store().listDirty([0, 1], end, 100, {})).toHaveLength(18)
  })

  it('repeated listing, reading and clearing leaves nothing dirty', async () => {
    const viewers = Array.from({ length: 50 }, () => freshViewer())
    for (const viewer of viewers) {
      const now = later(10)
      await store().putProgress(
        numbered(5).map((oid) => write(viewer, oid, report(now))),
        { now, timelineCap },
      )
    }
    expect(await store().countDirty()).toBeGreaterThanOrEqual(250)
    await persistAll(store(), allRegions())
    expect(await store().countDirty()).toBe(0)
    const lookups = await store().getProgressMany(viewers.map((viewer) => keyOf(viewer, '5')))
    expect(lookups.every((lookup) => lookup.record !== undefined)).toBe(true)
  })

  it('dropping the dirty mark of a key with content changes nothing', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().dropDirty([keyOf(viewer, '1'), keyOf(viewer, 'none')])
    expect(await dirtyOids(viewer, now)).toEqual(['1'])
  })

  it('the first view of a day leaves a reward until the log has it', async () => {
    const viewer = freshViewer()
    const region = regionOf(viewer, regions())
    const now = later(1_000)
    const mine = async (claimedBefore: number, limit = EVERYTHING) =>
      (await store().listPendingRewards([region], claimedBefore, limit)).filter((reward) => reward.viewer === viewer)
    await store().putProgress([write(viewer, '1', report(now), { day: 20_100 }), write(viewer, '2', report(now), { day: 20_100 })], {
      now,
      timelineCap,
    })
    await store().putProgress([write(viewer, '1', report(now + 5), { day: 20_100, business: 300 })], { now: now + 5, timelineCap })
    const first: RewardEvent = { id: `20100.${viewer}.1`, viewer, business: 1, day: 20_100, kind: 'FIRST_VIEW' }
    const second: RewardEvent = { id: `20100.${viewer}.300`, viewer, business: 300, day: 20_100, kind: 'FIRST_VIEW' }
    expect(await mine(now - 1)).toEqual([])
    expect(await mine(now)).toEqual([first])
    expect((await mine(now + 5)).toSorted((a, b) => a.business - b.business)).toEqual([first, second])
    expect(await store().listPendingRewards([region], now + 5, 1)).toHaveLength(1)
    expect(await store().listPendingRewards([(region + 1) % regions()], now + 5, EVERYTHING)).not.toContainEqual(first)
    await store().confirmRewards([first])
    expect(await mine(now + 5)).toEqual([second])
    await store().confirmRewards([first, second])
    expect(await mine(now + 5)).toEqual([])
    const [again] = await store().putProgress([write(viewer, '1', report(later(1_000)), { day: 20_100 })], { now, timelineCap })
    expect(again).toMatchObject({ firstOfDay: false })
    later(1_000)
  })

  it('clean records and tombstones last written before the given time are purged; dirty and newer ones stay', async () => {
    const viewer = freshViewer()
    const old = await fillClean(store(), viewer, numbered(7), timelineCap)
    const [tombstone] = await store().deleteProgress([keyOf(viewer, '7')], later())
    await store().clearDirty([{ key: keyOf(viewer, '7'), version: tombstone?.record.version ?? 0 }], timelineCap)
    const dirtyAt = later()
    await store().putProgress([write(viewer, 'dirty', report(dirtyAt))], { now: dirtyAt, timelineCap })
    const lastOld = Math.max(
      ...(await store().readDirtyProgress([keyOf(viewer, '7'), keyOf(viewer, 'dirty')])).map(({ record }) => record?.version ?? 0),
    )
    const boundary = Math.floor(lastOld / 1024) + 1_000
    later(Math.max(0, boundary + 1_000 - later()))
    const [fresh] = await fillClean(store(), viewer, ['fresh'], timelineCap)
    expect(fresh?.version).toBeGreaterThanOrEqual(boundary * 1024)
    expect(old).toHaveLength(7)

    const first = await store().purgeExpired(boundary, 3)
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThanOrEqual(3)
    let purged = first
    for (let round = await store().purgeExpired(boundary, 1_000); round > 0; round = await store().purgeExpired(boundary, 1_000))
      purged += round
    expect(purged).toBeGreaterThanOrEqual(7)

    const left = await store().readDirtyProgress([...numbered(7), 'dirty', 'fresh'].map((oid) => keyOf(viewer, oid)))
    expect(left.filter(({ record }) => record !== undefined).map(({ key }) => key.oid)).toEqual(['dirty', 'fresh'])
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries.map((entry) => entry.oid)).toEqual(['fresh', 'dirty'])
  })

  it('a purged record does not count towards the cap', async () => {
    const viewer = freshViewer()
    const old = await fillClean(store(), viewer, numbered(8), 10)
    const boundary = Math.floor((old.at(-1)?.version ?? 0) / 1024) + 1
    while ((await store().purgeExpired(boundary, 1_000)) > 0);
    later(10_000)
    await fillClean(store(), viewer, numbered(10, 100), 10)
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries).toHaveLength(10)
    expect(page.truncated).toEqual([])
  })
}

/** A persist step without a record store: clears every dirty mark, including those of other tests. */
async function persistAll(store: HotStore, regions: readonly number[]): Promise<void> {
  for (;;) {
    const keys = await store.listDirty(regions, Number.MAX_SAFE_INTEGER, 5_000)
    if (keys.length === 0) return
    const progressKeys = keys.filter((key) => key.business !== 0)
    const viewers = keys.filter((key) => key.business === 0).map((key) => key.viewer)
    const contents = await store.readDirtyProgress(progressKeys)
    const settings = await store.readDirtySettings(viewers)
    const marks: { key: ProgressKey; version: number }[] = [
      ...contents.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, version: record.version }])),
      ...viewers.map((viewer, index) => ({ key: settingsKey(viewer), version: settings[index]?.version ?? 0 })),
    ]
    await store.clearDirty(marks, timelineCap)
    await store.dropDirty(contents.filter(({ record }) => record === undefined).map(({ key }) => key))
  }
}
