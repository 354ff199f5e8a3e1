/** Hot store contract: the cap and the floor of the timeline, and writes that need a trimmed base. */
import { expect, it } from 'vitest'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { fillClean, freshViewer, glance, keyOf, later, numbered, report, write, writtenRecord } from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 10

export function trimmingContract({ store, reopen }: HotStoreSubject): void {
  it('dirty entries are never trimmed, even beyond the cap', async () => {
    const viewer = freshViewer()
    for (const oid of numbered(15)) {
      const now = later(1_000)
      await store().putProgress([write(viewer, oid, report(now))], { now, timelineCap })
    }
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries).toHaveLength(15)
    expect(page.truncated).toEqual([])
  })

  it('clearing dirty marks trims the oldest beyond the cap, with their contents, and sets the floor', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(15), timelineCap)
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries.map((entry) => entry.oid)).toEqual(numbered(10, 6).toReversed())
    expect(page.truncated).toEqual([{ business: 1, floor: { viewedAt: records[4]?.viewedAt, business: 1, oid: '5' }, clearedAt: 0 }])
    const lookups = await store().getProgressMany([keyOf(viewer, '5'), keyOf(viewer, '6'), keyOf(viewer, 'never')])
    expect(lookups).toEqual([
      { record: undefined, older: { clearedAt: 0 } },
      { record: records[5], older: undefined },
      { record: undefined, older: { clearedAt: 0 } },
    ])
    const [content] = await store().readDirtyProgress([keyOf(viewer, '5')])
    expect(content?.record).toBeUndefined()
  })

  it('a put beyond the cap trims the oldest clean entry', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(10), timelineCap)
    expect((await store().listTimeline(viewer, [1], undefined, 100)).truncated).toEqual([])
    const now = later(1_000)
    await store().putProgress([write(viewer, '11', report(now))], { now, timelineCap })
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries.map((entry) => entry.oid)).toEqual(numbered(10, 2).toReversed())
    expect(page.truncated).toEqual([{ business: 1, floor: { viewedAt: records[0]?.viewedAt, business: 1, oid: '1' }, clearedAt: 0 }])
  })

  it('trimming stops at the oldest dirty entry', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(10), timelineCap)
    const now = later(1_000)
    const [dirty] = await store().putProgress([write(viewer, '1', report((records[0]?.viewedAt ?? 0) + 1))], { now, timelineCap })
    await store().putProgress([write(viewer, '11', report(now)), write(viewer, '12', report(now))], { now, timelineCap })
    const before = await store().listTimeline(viewer, [1], undefined, 100)
    expect(before.entries).toHaveLength(12)
    expect(before.truncated).toEqual([])
    await store().clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(dirty).version }], timelineCap)
    const after = await store().listTimeline(viewer, [1], undefined, 100)
    expect(after.entries).toHaveLength(10)
    expect(after.truncated.map((item) => item.floor.oid)).toEqual(['2'])
  })

  it('each business has its own timeline, cap and floor', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap, 1)
    await fillClean(store(), viewer, numbered(10), timelineCap, 2)
    const page = await store().listTimeline(viewer, [1, 2], undefined, 100)
    expect(page.entries).toHaveLength(20)
    expect(page.truncated.map((item) => item.business)).toEqual([1])
    expect((await store().listTimeline(viewer, [2], undefined, 100)).truncated).toEqual([])
    const lookups = await store().getProgressMany([keyOf(viewer, 'never', 1), keyOf(viewer, 'never', 2)])
    expect(lookups.map((lookup) => lookup.older)).toEqual([{ clearedAt: 0 }, undefined])
  })

  it('every page has the floor, regardless of its start', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(12), timelineCap)
    const before = { viewedAt: records[4]?.viewedAt ?? 0, business: 1, oid: '5' }
    const page = await store().listTimeline(viewer, [1], before, 1)
    expect(page.entries.map((entry) => entry.oid)).toEqual(['4'])
    expect(page.truncated.map((item) => item.floor.oid)).toEqual(['2'])
  })

  it('a report that is not decisive needs a possibly trimmed base, and changes nothing without it', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const now = later(1_000)
    const [asked] = await store().putProgress([write(viewer, '1', glance(now), { decisive: false, day: 20_000 })], { now, timelineCap })
    expect(asked).toEqual({ status: 'needs-base', asOf: expect.any(Number) })
    expect((await store().getProgressMany([keyOf(viewer, '1')]))[0]?.record).toBeUndefined()
    const base = report(now - 100_000, { position: 432_000, version: 3 })
    const [outcome] = await store().putProgress([write(viewer, '1', glance(now), { decisive: false, base, day: 20_000 })], {
      now,
      timelineCap,
    })
    expect(outcome).toMatchObject({ status: 'written', firstOfDay: true, record: { viewedAt: now, position: 432_000 } })
  })

  it('a decisive report above the floor needs no base', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const now = later(1_000)
    const [outcome] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    expect(outcome?.status).toBe('written')
  })

  it('a decisive report at or below the floor needs the base', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(12), timelineCap)
    const floorAt = records[1]?.viewedAt ?? 0
    const now = later(1_000)
    const outcomes = await store().putProgress(
      [
        write(viewer, 'at', report(floorAt)),
        write(viewer, 'below', report(floorAt - 1)),
        write(viewer, 'above', report(floorAt + 1)),
        write(viewer, 'known', report(floorAt), { base: null }),
      ],
      { now, timelineCap },
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['needs-base', 'needs-base', 'written', 'written'])
  })

  it('a base is requested again only if something was trimmed after the request', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const put = (base: { baseAsOf?: number }) => {
      const now = later(1_000)
      return store().putProgress([write(viewer, '1', glance(now), { decisive: false, base: null, ...base })], { now, timelineCap })
    }
    const asOf = await asOfBase(store(), viewer, '1')
    await fillClean(store(), viewer, ['13'], timelineCap)
    const [again] = await put({ baseAsOf: asOf })
    expect(again?.status).toBe('needs-base')
    const asOfAgain = again?.status === 'needs-base' ? again.asOf : 0
    expect(asOfAgain).toBeGreaterThan(asOf)
    await store().putProgress([write(viewer, 'dirty', report(later()))], { now: later(), timelineCap: 100 })
    expect((await put({ baseAsOf: asOfAgain }))[0]?.status).toBe('written')
  })

  it('an outdated base cannot hide a report that another device persisted and had trimmed', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const asOf = await asOfBase(store(), viewer, '1')
    await fillClean(store(), viewer, ['1', ...numbered(12, 20)], timelineCap)
    expect((await store().getProgressMany([keyOf(viewer, '1')]))[0]?.record).toBeUndefined()
    const now = later(1_000)
    const glancing = write(viewer, '1', glance(now), { decisive: false, base: null, baseAsOf: asOf })
    expect((await store().putProgress([glancing], { now, timelineCap }))[0]?.status).toBe('needs-base')
  })

  it('a base stays valid through a call: a batch of glances that extend the timeline needs only one', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(20), timelineCap)
    const asOf = await asOfBase(store(), viewer, '1')
    const now = later(1_000)
    const glances = numbered(8).map((oid) => write(viewer, oid, glance(now), { decisive: false, base: null, baseAsOf: asOf }))
    const outcomes = await store().putProgress(glances, { now, timelineCap })
    expect(new Set(outcomes.map((outcome) => outcome.status))).toEqual(new Set(['written']))
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries).toHaveLength(timelineCap)
  })

  it('a base without a time is accepted', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const now = later(1_000)
    const [outcome] = await store().putProgress([write(viewer, '1', glance(now), { decisive: false, base: null })], { now, timelineCap })
    expect(outcome?.status).toBe('written')
  })

  it('no base is needed for a stored record or tombstone, or an untrimmed timeline', async () => {
    const [viewer, whole] = [freshViewer(), freshViewer()]
    await fillClean(store(), viewer, numbered(12), timelineCap)
    await store().deleteProgress([keyOf(viewer, '11')], later(1_000))
    const now = later(1_000)
    const outcomes = await store().putProgress(
      [
        write(viewer, '12', glance(now), { decisive: false }),
        write(viewer, '11', glance(now), { decisive: false }),
        write(whole, '1', glance(now), { decisive: false }),
      ],
      { now, timelineCap },
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['written', 'written', 'written'])
  })

  it('paused and cleared take precedence over the need for a base', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    await store().setPaused(viewer, true, later())
    const now = later(1_000)
    const ask = () => store().putProgress([write(viewer, '1', glance(now - 500), { decisive: false })], { now, timelineCap })
    expect(await ask()).toEqual([{ status: 'paused' }])
    await store().setPaused(viewer, false, later())
    expect(await ask()).toMatchObject([{ status: 'needs-base' }])
    const clearedAt = await store().clearProgress(viewer, 1, later())
    expect(await ask()).toEqual([{ status: 'stale', record: undefined, voidUntil: clearedAt }])
  })

  it('a late entry below the floor is listed while it is dirty, and removed with its dirty mark', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(12), timelineCap)
    const floor = { viewedAt: records[1]?.viewedAt, business: 1, oid: '2' }
    const lateAt = (records[0]?.viewedAt ?? 0) - 5_000
    const now = later(1_000)
    const [outcome] = await store().putProgress([write(viewer, 'late', report(lateAt), { base: null })], { now, timelineCap })
    const dirty = await store().listTimeline(viewer, [1], undefined, 100)
    expect(dirty.entries.at(-1)).toEqual({ business: 1, oid: 'late', record: writtenRecord(outcome) })
    expect(dirty.truncated[0]?.floor).toEqual(floor)
    await store().clearDirty([{ key: keyOf(viewer, 'late'), version: writtenRecord(outcome).version }], timelineCap)
    const clean = await store().listTimeline(viewer, [1], undefined, 100)
    expect(clean.entries.map((entry) => entry.oid)).toEqual(numbered(10, 3).toReversed())
    expect(clean.truncated[0]?.floor).toEqual(floor)
  })

  it('a deleted key in a trimmed timeline is a miss without a read of the record store', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    await store().deleteProgress([keyOf(viewer, '1'), keyOf(viewer, '12')], later(1_000))
    const lookups = await store().getProgressMany([keyOf(viewer, '1'), keyOf(viewer, '12')])
    expect(lookups).toEqual([
      { record: undefined, older: undefined },
      { record: undefined, older: undefined },
    ])
  })

  it('after a clearing, a read that needs the record store gets the watermark', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const clearedAt = await store().clearProgress(viewer, 1, later(1_000))
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries).toEqual([])
    for (const item of page.truncated) expect(item.clearedAt).toBe(clearedAt)
    const [lookup] = await store().getProgressMany([keyOf(viewer, 'never')])
    if (lookup?.older !== undefined) expect(lookup.older).toEqual({ clearedAt })
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const refilled = await store().listTimeline(viewer, [1], undefined, 100)
    expect(refilled.truncated.map((item) => [item.floor.oid, item.clearedAt])).toEqual([['2', clearedAt]])
    expect((await store().getProgressMany([keyOf(viewer, 'never')]))[0]?.older).toEqual({ clearedAt })
  })

  it('the deletion of a trimmed key with times ahead of the clock is as late as the floor', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(12), timelineCap)
    const floorAt = records[1]?.viewedAt ?? 0
    const behind = floorAt - 60_000
    const [outcome] = await store().deleteProgress([keyOf(viewer, '1')], behind)
    expect(outcome).toMatchObject({ existed: false, record: { deleted: true, viewedAt: floorAt } })
    const [content] = await store().readDirtyProgress([keyOf(viewer, '1')])
    expect(content?.record?.viewedAt).toBe(floorAt)
  })

  it('a clearing includes trimmed entries with times ahead of the clock, although no newer ones are left', async () => {
    const viewer = freshViewer()
    const records = await fillClean(store(), viewer, numbered(12), timelineCap)
    const floorAt = records[1]?.viewedAt ?? 0
    const behind = floorAt - 60_000
    await store().deleteProgress(
      numbered(10, 3).map((oid) => keyOf(viewer, oid)),
      behind,
    )
    expect(await store().clearProgress(viewer, 1, behind)).toBe(floorAt)
  })

  it('a deletion makes room under the cap', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(10), timelineCap)
    await store().deleteProgress([keyOf(viewer, '5')], later(1_000))
    const now = later(1_000)
    await store().putProgress([write(viewer, '11', report(now))], { now, timelineCap })
    const page = await store().listTimeline(viewer, [1], undefined, 100)
    expect(page.entries).toHaveLength(10)
    expect(page.truncated).toEqual([])
  })

  it('the floor survives a restart', async () => {
    const viewer = freshViewer()
    await fillClean(store(), viewer, numbered(12), timelineCap)
    const before = await store().listTimeline(viewer, [1], undefined, 100)
    const reopened = await reopen()
    expect(await reopened.listTimeline(viewer, [1], undefined, 100)).toEqual(before)
  })
}

/** The `asOf` that a base for a glance of this trimmed subject needs. */
async function asOfBase(store: HotStore, viewer: string, oid: string): Promise<number> {
  const now = later(1_000)
  const [asked] = await store.putProgress([write(viewer, oid, glance(now), { decisive: false })], { now, timelineCap })
  if (asked?.status !== 'needs-base') throw new Error(`${oid} is not trimmed`)
  return asked.asOf
}
