/** Hot store contract: tombstones, watermarks and the pause switch. */
import { expect, it } from 'vitest'
import type { ProgressRecord } from '../../../core/domain.ts'
import { freshViewer, glance, keyOf, later, numbered, report, unversioned, write, writtenRecord } from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 100

export function switchesContract({ store, another }: HotStoreSubject): void {
  it('a deleted record is gone from lookups and timeline, and its tombstone is there for the persist step', async () => {
    const viewer = freshViewer()
    const now = later()
    const written = await store().putProgress([write(viewer, '1', report(now)), write(viewer, '2', report(now))], { now, timelineCap })
    const deletedAt = later()
    const [outcome] = await store().deleteProgress([keyOf(viewer, '1')], deletedAt)
    expect(outcome?.existed).toBe(true)
    expect(unversioned(outcome?.record)).toEqual({
      viewedAt: deletedAt,
      since: deletedAt,
      rank: 0,
      position: 0,
      duration: 0,
      device: '',
      finished: false,
      deleted: true,
    })
    expect(outcome?.record.version).toBeGreaterThan(writtenRecord(written[0]).version)
    const lookups = await store().getProgressMany([keyOf(viewer, '1'), keyOf(viewer, '2')])
    expect(lookups.map((lookup) => lookup.record?.viewedAt)).toEqual([undefined, now])
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries.map((entry) => entry.oid)).toEqual(['2'])
    expect(await store().readDirtyProgress([keyOf(viewer, '1')])).toEqual([{ key: keyOf(viewer, '1'), record: outcome?.record }])
  })

  it('a report viewed at or before the deletion does not bring the record back', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const deletedAt = later(1_000)
    await store().deleteProgress([keyOf(viewer, '1')], deletedAt)
    const outcomes = await store().putProgress(
      [
        write(viewer, '1', report(deletedAt - 1)),
        write(viewer, '1', report(deletedAt)),
        write(viewer, '1', report(deletedAt + 1, { position: 7 })),
      ],
      { now: later(), timelineCap },
    )
    expect(outcomes.slice(0, 2)).toEqual([
      { status: 'stale', record: undefined, voidUntil: deletedAt },
      { status: 'stale', record: undefined, voidUntil: deletedAt },
    ])
    expect(writtenRecord(outcomes[2])).toMatchObject({ position: 7, since: deletedAt, deleted: false })
  })

  it('a deletion includes a record viewed ahead of the clock', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    const ahead = now + 60_000
    await store().putProgress([write(viewer, '1', report(ahead))], { now, timelineCap })
    const [outcome] = await store().deleteProgress([keyOf(viewer, '1')], later())
    expect(outcome).toMatchObject({ existed: true, record: { viewedAt: ahead, since: ahead } })
    const [put] = await store().putProgress([write(viewer, '1', report(ahead))], { now: later(), timelineCap })
    expect(put).toEqual({ status: 'stale', record: undefined, voidUntil: ahead })
  })

  it('unknown keys get a tombstone too, in key order', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '2', report(now))], { now, timelineCap })
    const deletedAt = later()
    const outcomes = await store().deleteProgress([keyOf(viewer, '1'), keyOf(viewer, '2'), keyOf(freshViewer(), '3')], deletedAt)
    expect(outcomes.map((outcome) => outcome.existed)).toEqual([false, true, false])
    expect(outcomes.map((outcome) => outcome.record.since)).toEqual([deletedAt, deletedAt, deletedAt])
    const [put] = await store().putProgress([write(viewer, '1', report(deletedAt))], { now: later(), timelineCap })
    expect(put).toEqual({ status: 'stale', record: undefined, voidUntil: deletedAt })
  })

  it('a second deletion finds nothing, and still voids reports up to its own time', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().deleteProgress([keyOf(viewer, '1')], later())
    const deletedAt = later(1_000)
    const [outcome] = await store().deleteProgress([keyOf(viewer, '1')], deletedAt)
    expect(outcome).toMatchObject({ existed: false, record: { since: deletedAt } })
  })

  it('clearing empties one business of one viewer at once', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    const now = later()
    await store().putProgress(
      [
        ...numbered(5).map((oid) => write(viewer, oid, report(now))),
        write(viewer, '1', report(now), { business: 2 }),
        write(other, '1', report(now)),
      ],
      { now, timelineCap },
    )
    const clearedAt = await store().clearProgress(viewer, 1, later())
    expect(clearedAt).toBeGreaterThan(now)
    expect((await store().listTimeline(viewer, [1], undefined, 10)).entries).toEqual([])
    expect((await store().listTimeline(viewer, [1, 2], undefined, 10)).entries).toHaveLength(1)
    expect((await store().listTimeline(other, [1], undefined, 10)).entries).toHaveLength(1)
    const lookups = await store().getProgressMany(numbered(5).map((oid) => keyOf(viewer, oid)))
    expect(lookups.map((lookup) => lookup.record)).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it('the watermark covers the newest entry, even one viewed ahead of the clock', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now + 60_000)), write(viewer, '2', report(now))], { now, timelineCap })
    expect(await store().clearProgress(viewer, 1, later())).toBe(now + 60_000)
  })

  it('a second clearing never moves the watermark back', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now + 60_000))], { now, timelineCap })
    const clearedAt = await store().clearProgress(viewer, 1, now)
    expect(await store().clearProgress(viewer, 1, later())).toBe(clearedAt)
  })

  it('a report viewed at or before the watermark is stale, and a later one is written', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const clearedAt = await store().clearProgress(viewer, 1, later(1_000))
    const outcomes = await store().putProgress(
      [
        write(viewer, '1', report(clearedAt - 1)),
        write(viewer, '9', report(clearedAt)),
        write(viewer, '1', report(clearedAt + 1, { position: 3 })),
        write(viewer, '1', report(clearedAt - 5)),
      ],
      { now: later(), timelineCap },
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['stale', 'stale', 'written', 'stale'])
    expect(outcomes[0]).toEqual({ status: 'stale', record: undefined, voidUntil: clearedAt })
    expect(outcomes[3]).toMatchObject({ record: { position: 3 }, voidUntil: clearedAt })
    expect(writtenRecord(outcomes[2])).toMatchObject({ since: clearedAt, position: 3 })
  })

  it('a cleared base does not come back', async () => {
    const viewer = freshViewer()
    const clearedAt = await store().clearProgress(viewer, 1, later())
    const base = report(clearedAt, { position: 500_000, rank: 2 ** 50, version: 5 })
    const now = later()
    const [outcome] = await store().putProgress([write(viewer, '1', report(now, { position: 4 }), { base })], { now, timelineCap })
    expect(writtenRecord(outcome)).toMatchObject({ position: 4, since: clearedAt })
  })

  it('deleting a cleared record finds nothing', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().clearProgress(viewer, 1, later())
    const [outcome] = await store().deleteProgress([keyOf(viewer, '1')], later())
    expect(outcome?.existed).toBe(false)
  })

  it('the settings of a new viewer are empty', async () => {
    expect(await store().getSettings(freshViewer())).toEqual({ paused: false, clearedAt: {}, version: 0 })
  })

  it('settings have the watermarks and the switch, and a newer version after each change', async () => {
    const viewer = freshViewer()
    const first = await store().clearProgress(viewer, 1, later())
    const afterFirst = await store().getSettings(viewer)
    expect(afterFirst).toEqual({ paused: false, clearedAt: { 1: first }, version: afterFirst.version })
    const second = await store().clearProgress(viewer, 65_535, later())
    const paused = await store().setPaused(viewer, true, later())
    expect(paused).toEqual({ paused: true, clearedAt: { 1: first, 65535: second }, version: paused.version })
    expect(paused.version).toBeGreaterThan(afterFirst.version)
    expect(await store().getSettings(viewer)).toEqual(paused)
    const resumed = await store().setPaused(viewer, false, later())
    expect(resumed).toMatchObject({ paused: false, clearedAt: { 1: first, 65535: second } })
    expect(resumed.version).toBeGreaterThan(paused.version)
  })

  it('records of the record store are merged in although the viewer has paused, and void reports before their deletion', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const older = report(now - 900, { position: 60_000 })
    const writes = [write(viewer, 'glanced', glance(now - 500)), write(viewer, 'void', older), write(viewer, 'other', older)]
    await store().putProgress(writes, { now, timelineCap })
    await store().setPaused(viewer, true, now + 10)
    const merge = (oid: string, record: ProgressRecord) => write(viewer, oid, record, { decisive: false, base: record, merges: true })
    const real = report(now - 800, { position: 90_000 })
    const second = glance(now - 600, { since: now - 700 })
    const merges = [merge('glanced', real), merge('void', second), merge('never held', real)]
    const outcomes = await store().putProgress(merges, { now: now + 20, timelineCap })
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['written', 'written', 'stale'])
    expect(writtenRecord(outcomes[0])).toMatchObject({ viewedAt: now - 500, position: 90_000 })
    expect(unversioned(writtenRecord(outcomes[1]))).toEqual(unversioned(second))
    const lookups = await store().getProgressMany(['glanced', 'void', 'never held'].map((oid) => keyOf(viewer, oid)))
    expect(lookups.map(({ record }) => record?.position)).toEqual([90_000, 1_000, undefined])
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries.map((entry) => entry.oid)).toEqual(['glanced', 'void', 'other'])
  })

  it('reports of a paused viewer are dropped and change nothing until the viewer resumes', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    const now = later()
    await store().setPaused(viewer, true, now)
    const outcomes = await store().putProgress([write(viewer, '1', report(now), { day: 20_000 }), write(other, '1', report(now))], {
      now,
      timelineCap,
    })
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['paused', 'written'])
    expect((await store().getProgressMany([keyOf(viewer, '1')]))[0]?.record).toBeUndefined()
    await store().setPaused(viewer, false, later())
    const [outcome] = await store().putProgress([write(viewer, '1', report(later()), { day: 20_000 })], { now: later(), timelineCap })
    expect(outcome).toMatchObject({ status: 'written', firstOfDay: true })
  })

  it('a paused viewer still reads, deletes and clears', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now)), write(viewer, '2', report(now))], { now, timelineCap })
    await store().setPaused(viewer, true, later())
    expect((await store().listTimeline(viewer, [1], undefined, 10)).entries).toHaveLength(2)
    expect(await store().deleteProgress([keyOf(viewer, '1')], later())).toMatchObject([{ existed: true }])
    await store().clearProgress(viewer, 1, later())
    expect((await store().listTimeline(viewer, [1], undefined, 10)).entries).toEqual([])
  })

  it('a switch set in one process holds in every other', async () => {
    const other = await another()
    try {
      const viewer = freshViewer()
      await store().setPaused(viewer, true, later())
      expect(await other.getSettings(viewer)).toMatchObject({ paused: true })
      const now = later()
      expect(await other.putProgress([write(viewer, '1', report(now))], { now, timelineCap })).toEqual([{ status: 'paused' }])
      await other.setPaused(viewer, false, later())
      const [outcome] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
      expect(outcome?.status).toBe('written')
      const clearedAt = await other.clearProgress(viewer, 1, later())
      expect(await store().putProgress([write(viewer, '1', report(clearedAt))], { now, timelineCap })).toMatchObject([{ status: 'stale' }])
    } finally {
      await other.close()
    }
  })
}
