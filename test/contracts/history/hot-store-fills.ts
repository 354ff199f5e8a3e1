/** Hot store contract: rows and settings of the record store that are taken over. */
import { expect, it } from 'vitest'
import type { ProgressRecord } from '../../../core/domain.ts'
import { fillClean, freshViewer, glance, keyOf, later, numbered, report, write, writtenRecord } from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 100
const DAY_MS = 86_400_000

function tombstone(viewedAt: number, version: number): ProgressRecord {
  const nothing = { position: 0, duration: 0, device: '', finished: false }
  return { viewedAt, since: viewedAt, rank: 0, version, ...nothing, deleted: true }
}

export function fillsContract({ store }: HotStoreSubject): void {
  const fill = (viewer: string, rows: Record<string, ProgressRecord>, cap = timelineCap) =>
    store().fillProgress(
      Object.entries(rows).map(([oid, record]) => ({ key: keyOf(viewer, oid), record })),
      { now: later(), timelineCap: cap },
    )
  const listed = async (viewer: string) => (await store().listTimeline(viewer, [1], undefined, 1_000)).entries.map(({ oid }) => oid)
  const recordOf = async (viewer: string, oid: string) => (await store().readDirtyProgress([keyOf(viewer, oid)]))[0]?.record

  it('a fill stores a row unchanged, with its version, and leaves no dirty mark', async () => {
    const viewer = freshViewer()
    const dirtyBefore = await store().countDirty()
    const at = later()
    const rows = {
      1: report(at - 5, { version: 77, since: at - 900, position: 7 }),
      2: report(at, { version: 78, device: 'tv-ü', finished: true }),
    }
    await fill(viewer, rows)
    expect(await recordOf(viewer, '1')).toEqual(rows[1])
    expect(await recordOf(viewer, '2')).toEqual(rows[2])
    expect(await listed(viewer)).toEqual(['2', '1'])
    await fill(viewer, rows)
    expect(await listed(viewer)).toEqual(['2', '1'])
    expect(await store().countDirty()).toBe(dirtyBefore)
  })

  it('a write after a fill gets a higher version than the row', async () => {
    const viewer = freshViewer()
    const now = later()
    const version = (now + 60_000) * 1_024
    await fill(viewer, { 1: report(now, { version }) })
    const [outcome] = await store().putProgress([write(viewer, '2', report(now))], { now, timelineCap })
    expect(writtenRecord(outcome).version).toBeGreaterThan(version)
  })

  it('the newer of a row and a held record stays, and a dirty record stays dirty', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await store().putProgress([write(viewer, '1', report(now)), write(viewer, '2', report(now))], { now, timelineCap })
    const dirtyBefore = await store().countDirty()
    await fill(viewer, { 1: report(now - 5, { version: 1, position: 1 }), 2: report(now + 5, { version: 2, position: 2 }) })
    expect(await recordOf(viewer, '1')).toMatchObject({ viewedAt: now, position: 60_000 })
    expect(await recordOf(viewer, '2')).toMatchObject({ viewedAt: now + 5, position: 2 })
    expect(await listed(viewer)).toEqual(['2', '1'])
    expect(await store().countDirty()).toBe(dirtyBefore)
  })

  it('a tombstone keeps its time: it removes an older record, voids older reports, and leaves newer ones', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await fillClean(store(), viewer, ['1', '2'], timelineCap)
    const deletedAt = later(1_000)
    await store().putProgress([write(viewer, '2', report(deletedAt + 5))], { now: deletedAt + 5, timelineCap })
    await fill(viewer, { 1: tombstone(deletedAt, 5), 2: tombstone(deletedAt, 6), 3: tombstone(now, 7) })
    expect(await recordOf(viewer, '1')).toMatchObject({ deleted: true, viewedAt: deletedAt })
    expect(await listed(viewer)).toEqual(['2'])
    const reports = [write(viewer, '1', report(deletedAt)), write(viewer, '3', report(now)), write(viewer, '3', report(now + 1))]
    const outcomes = await store().putProgress(reports, { now: later(), timelineCap })
    expect(outcomes.map(({ status }) => status)).toEqual(['stale', 'stale', 'written'])
  })

  it('a fill stores rows of a paused viewer, and reports are still dropped', async () => {
    const viewer = freshViewer()
    await store().setPaused(viewer, true, later())
    const now = later()
    await fill(viewer, { 1: report(now, { version: 1 }) })
    expect(await listed(viewer)).toEqual(['1'])
    expect(await store().putProgress([write(viewer, '2', report(now))], { now, timelineCap })).toEqual([{ status: 'paused' }])
  })

  it('a row that a clearing covers is left out', async () => {
    const viewer = freshViewer()
    const clearedAt = await store().clearProgress(viewer, 1, later())
    await fill(viewer, { 1: report(clearedAt, { version: 1 }), 2: report(clearedAt + 1, { version: 2 }) })
    expect(await listed(viewer)).toEqual(['2'])
  })

  it('a cleared record that is still dirty is not merged into a row', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const clearedAt = await store().clearProgress(viewer, 1, later())
    const row = glance(clearedAt + 5, { version: 1 })
    await fill(viewer, { 1: row })
    expect(await recordOf(viewer, '1')).toEqual(row)
    expect(await listed(viewer)).toEqual(['1'])
  })

  it('a fill trims the timeline, and a lookup of a trimmed row points to the record store', async () => {
    const viewer = freshViewer()
    const at = later()
    await fill(viewer, Object.fromEntries(numbered(5).map((oid) => [oid, report(at + Number(oid), { version: Number(oid) })])), 3)
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries.map(({ oid }) => oid)).toEqual(['5', '4', '3'])
    expect(page.truncated).toEqual([{ business: 1, floor: { viewedAt: at + 2, business: 1, oid: '2' }, clearedAt: 0 }])
    expect(await store().getProgressMany([keyOf(viewer, '1')])).toEqual([{ record: undefined, older: { clearedAt: 0 } }])
  })

  it('retention counts from the version of a row, not from the moment at which it was taken over', async () => {
    const viewer = freshViewer()
    const now = later()
    const written = now - 80 * DAY_MS
    const rows = { 1: report(written, { version: written * 1_024 }), 2: tombstone(written + 1, (written + 1) * 1_024) }
    await fill(viewer, { ...rows, 3: report(now, { version: now * 1_024 }) })
    while ((await store().purgeExpired(written + DAY_MS, 1_000)) > 0);
    expect([await recordOf(viewer, '1'), await recordOf(viewer, '2')]).toEqual([undefined, undefined])
    expect(await listed(viewer)).toEqual(['3'])
  })

  it('a timeline whose entries have expired is still truncated, because rows that were trimmed later may be younger', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    const written = now - 80 * DAY_MS
    const old = (at: number) => report(now + at, { version: (written + at) * 1_024 })
    await fill(viewer, { 1: old(1), 2: old(2), 3: old(3) }, 3)
    await fill(viewer, { late: report(now, { version: now * 1_024 }) }, 3)
    while ((await store().purgeExpired(written + DAY_MS, 1_000)) > 0);
    const { entries, truncated } = await store().listTimeline(viewer, [1], undefined, 10)
    expect({ entries, truncated: truncated.map(({ floor }) => floor.oid) }).toEqual({ entries: [], truncated: ['late'] })
    expect(await store().getProgressMany([keyOf(viewer, 'late')])).toEqual([{ record: undefined, older: { clearedAt: 0 } }])
  })

  it('a clearing removes what it covers and leaves newer entries', async () => {
    const viewer = freshViewer()
    const [first, second] = (await fillClean(store(), viewer, ['1', '2', '3'], timelineCap)) as [ProgressRecord, ProgressRecord]
    await store().putProgress([write(viewer, '4', report(first.viewedAt))], { now: later(), timelineCap })
    const settings = { paused: false, clearedAt: { 1: second.viewedAt }, version: second.version }
    await store().fillSettings([{ viewer, settings }], later())
    expect(await listed(viewer)).toEqual(['3'])
    expect(await store().getProgressMany(['1', '2', '4'].map((oid) => keyOf(viewer, oid)))).toEqual(
      Array.from({ length: 3 }, () => ({ record: undefined, older: undefined })),
    )
    expect((await store().getSettings(viewer)).clearedAt).toEqual({ 1: second.viewedAt })
    const reports = [write(viewer, '9', report(second.viewedAt)), write(viewer, '9', report(second.viewedAt + 1))]
    expect((await store().putProgress(reports, { now: later(), timelineCap })).map(({ status }) => status)).toEqual(['stale', 'written'])
  })

  it('a clearing leaves other businesses and viewers, and never moves back', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    for (const business of [1, 2]) await fillClean(store(), viewer, ['1'], timelineCap, business)
    await fillClean(store(), other, ['1'], timelineCap)
    const clearedAt = later()
    await store().fillSettings([{ viewer, settings: { paused: false, clearedAt: { 2: clearedAt }, version: 1 } }], later())
    await store().fillSettings([{ viewer, settings: { paused: false, clearedAt: { 2: clearedAt - 5, 3: 9 }, version: 2 } }], later())
    expect((await store().getSettings(viewer)).clearedAt).toEqual({ 2: clearedAt, 3: 9 })
    const page = await store().listTimeline(viewer, [1, 2], undefined, 10)
    expect(page.entries.map(({ business }) => business)).toEqual([1])
    expect(await listed(other)).toEqual(['1'])
  })

  it('the pause of a row replaces a persisted pause, and replaces an unpersisted pause only if the row is newer', async () => {
    const viewer = freshViewer()
    const dirtyBefore = await store().countDirty()
    const set = (paused: boolean, version: number) =>
      store().fillSettings([{ viewer, settings: { paused, clearedAt: {}, version } }], later())
    const isPaused = async () => (await store().getSettings(viewer)).paused
    await set(true, 5)
    expect(await isPaused()).toBe(true)
    await set(false, 3)
    expect(await store().getSettings(viewer)).toEqual({ paused: false, clearedAt: {}, version: 5 })
    expect(await store().countDirty()).toBe(dirtyBefore)

    const { version } = await store().setPaused(viewer, true, later())
    expect(version).toBeGreaterThan(5)
    await set(false, version - 1)
    expect(await isPaused()).toBe(true)
    await set(false, version + 1)
    expect(await isPaused()).toBe(false)
    expect(await store().countDirty()).toBe(dirtyBefore + 1)
  })
}
