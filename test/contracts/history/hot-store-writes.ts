/** Hot store contract: putting progress and looking it up. */
import { expect, it } from 'vitest'
import { regionOf } from '../../../core/regions.ts'
import { rewardOf } from '../../../core/rewards.ts'
import { rankOf } from '../../../subgraphs/history/model/merge.ts'
import {
  freshNamedViewer,
  freshViewer,
  freshViewerIn,
  glance,
  keyOf,
  later,
  numbered,
  report,
  unversioned,
  write,
  writtenRecord,
} from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 100

export function writesContract({ store, regions, another, reopen }: HotStoreSubject): void {
  it('a written record is readable at once, with all its fields', async () => {
    const viewer = freshViewer()
    const now = later()
    const record = report(now, { position: 2 ** 31 - 1, duration: 2 ** 31 - 1, device: 'téléviseur', finished: true })
    const [outcome] = await store().putProgress([write(viewer, '42', record)], { now, timelineCap })
    expect(outcome).toMatchObject({ status: 'written', firstOfDay: false })
    expect(unversioned(writtenRecord(outcome))).toEqual(unversioned(record))
    const [lookup] = await store().getProgressMany([keyOf(viewer, '42')])
    expect(lookup).toEqual({ record: writtenRecord(outcome), older: undefined })
  })

  it('fields that are zero, empty or false are read back unchanged', async () => {
    const viewer = freshViewer()
    const now = later()
    const record = report(now, { position: 0, duration: 0, device: '', rank: 0 })
    await store().putProgress([write(viewer, '0', record)], { now, timelineCap })
    const [lookup] = await store().getProgressMany([keyOf(viewer, '0')])
    expect(unversioned(lookup?.record)).toEqual(unversioned(record))
  })

  it('an empty call returns nothing', async () => {
    expect(await store().putProgress([], { now: later(), timelineCap })).toEqual([])
    expect(await store().getProgressMany([])).toEqual([])
    expect(await store().deleteProgress([], later())).toEqual([])
    await store().clearDirty([], timelineCap)
    await store().dropDirty([])
    await store().confirmRewards([])
    expect(await store().readDirtyProgress([])).toEqual([])
    expect(await store().readDirtySettings([])).toEqual([])
  })

  it('ids that look alike are different keys', async () => {
    const viewer = freshNamedViewer()
    const now = later()
    const oids = ['7', '07', '7 ', 'ü', 'u', '9223372036854775807', '9223372036854775808', 'x'.repeat(64), '漢'.repeat(21)]
    const outcomes = await store().putProgress(
      oids.map((oid, position) => write(viewer, oid, report(now, { position }))),
      { now, timelineCap },
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(oids.map(() => 'written'))
    const lookups = await store().getProgressMany(oids.map((oid) => keyOf(viewer, oid)))
    expect(lookups.map((lookup) => lookup.record?.position)).toEqual(oids.map((_, position) => position))
  })

  it('one oid of two businesses, or of two viewers, is two keys', async () => {
    const [first, second] = [freshViewer(), freshViewer()]
    const now = later()
    await store().putProgress(
      [
        write(first, '1', report(now, { position: 11 })),
        write(first, '1', report(now, { position: 12 }), { business: 65_535 }),
        write(second, '1', report(now, { position: 21 })),
      ],
      { now, timelineCap },
    )
    const lookups = await store().getProgressMany([
      keyOf(second, '1'),
      keyOf(first, '1', 65_535),
      keyOf(second, '1', 65_535),
      keyOf(first, '1'),
    ])
    expect(lookups.map((lookup) => lookup.record?.position)).toEqual([21, 12, undefined, 11])
  })

  it('a large call over all regions is answered in its order', async () => {
    const viewers = Array.from({ length: 500 }, () => freshViewer())
    const now = later()
    const outcomes = await store().putProgress(
      viewers.map((viewer, position) => write(viewer, '1', report(now, { position }))),
      { now, timelineCap },
    )
    expect(outcomes.map((outcome) => writtenRecord(outcome).position)).toEqual(viewers.map((_, position) => position))
    const lookups = await store().getProgressMany(viewers.toReversed().map((viewer) => keyOf(viewer, '1')))
    expect(lookups.map((lookup) => lookup.record?.position)).toEqual(viewers.map((_, position) => 499 - position))
  })

  it('a key that occurs twice in one call is written twice, the second time over the first', async () => {
    const viewer = freshViewer()
    const now = later()
    const outcomes = await store().putProgress(
      [
        write(viewer, '1', report(now - 5, { position: 1 })),
        write(viewer, '1', report(now, { position: 2 })),
        write(viewer, '1', report(now - 9, { position: 3 })),
      ],
      { now, timelineCap },
    )
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['written', 'written', 'stale'])
    expect(outcomes[2]).toMatchObject({ record: { position: 2 } })
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries).toHaveLength(1)
    expect(page.entries[0]?.record.position).toBe(2)
  })

  it('an older report is stale, returns the stored record, and changes nothing', async () => {
    const viewer = freshViewer()
    const now = later()
    const [first] = await store().putProgress([write(viewer, '1', report(now, { position: 9 }))], { now, timelineCap })
    const [second] = await store().putProgress([write(viewer, '1', report(now - 1, { position: 5 }))], { now: later(), timelineCap })
    expect(second).toEqual({ status: 'stale', record: writtenRecord(first), voidUntil: 0 })
    const [dirty] = await store().readDirtyProgress([keyOf(viewer, '1')])
    expect(dirty?.record).toEqual(writtenRecord(first))
  })

  it('an equal viewedAt keeps the later arrival', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now, { position: 1 }))], { now, timelineCap })
    const [outcome] = await store().putProgress([write(viewer, '1', report(now, { position: 2 }))], { now, timelineCap })
    expect(writtenRecord(outcome).position).toBe(2)
  })

  it('a glance moves the visit and keeps the resume point', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress([write(viewer, '1', report(now - 500, { position: 300_000, device: 'phone' }))], { now, timelineCap })
    const [outcome] = await store().putProgress([write(viewer, '1', glance(now))], { now, timelineCap })
    expect(writtenRecord(outcome)).toMatchObject({ viewedAt: now, position: 300_000, device: 'phone' })
  })

  it('an older report with the higher rank sets the resume point and leaves the visit', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    const furthest = (viewedAt: number, position: number) =>
      report(viewedAt, { position, rank: rankOf('furthest', { viewedAt, position, finished: false, glance: false }) })
    await store().putProgress([write(viewer, '1', furthest(now, 100))], { now, timelineCap })
    const [outcome] = await store().putProgress([write(viewer, '1', furthest(now - 500, 700))], { now, timelineCap })
    expect(writtenRecord(outcome)).toMatchObject({ viewedAt: now, position: 700 })
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries.map((entry) => [entry.record.viewedAt, entry.record.position])).toEqual([[now, 700]])
  })

  it('the store assigns version and since, and ignores those of the write', async () => {
    const viewer = freshViewer()
    const now = later()
    const [outcome] = await store().putProgress([write(viewer, '1', report(now, { version: 2 ** 52, since: now - 1 }))], {
      now,
      timelineCap,
    })
    expect(writtenRecord(outcome).since).toBe(0)
    expect(writtenRecord(outcome).version).toBeGreaterThanOrEqual(now * 1024)
    expect(writtenRecord(outcome).version).toBeLessThan(2 ** 52)
  })

  it('versions of one region grow strictly, even if the clock stops or goes back', async () => {
    const region = regions() - 1
    const viewers = Array.from({ length: 3 }, () => freshViewerIn(region, regions()))
    const now = later()
    const versions: number[] = []
    for (const at of [now, now, now - 5_000]) {
      const outcomes = await store().putProgress(
        viewers.map((viewer) => write(viewer, '1', report(now))),
        { now: at, timelineCap },
      )
      versions.push(...outcomes.map((outcome) => writtenRecord(outcome).version))
    }
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(versions).size).toBe(versions.length)
  })

  it('concurrent writes of two processes get different versions, and the newest report wins', async () => {
    const other = await another()
    try {
      const viewer = freshViewer()
      const now = later(10_000)
      const calls = numbered(40).map((step) => {
        const record = report(now - 1_000 + Number(step) * 7, { position: Number(step) })
        return (Number(step) % 2 === 0 ? store() : other).putProgress([write(viewer, '1', record)], { now, timelineCap })
      })
      const outcomes = (await Promise.all(calls)).flat()
      const versions = outcomes.flatMap((outcome) => (outcome.status === 'written' ? [outcome.record.version] : []))
      expect(new Set(versions).size).toBe(versions.length)
      const [here] = await store().getProgressMany([keyOf(viewer, '1')])
      const [there] = await other.getProgressMany([keyOf(viewer, '1')])
      expect(here?.record?.position).toBe(40)
      expect(there).toEqual(here)
    } finally {
      await other.close()
    }
  })

  it('a write is readable in every process once it is acknowledged', async () => {
    const other = await another()
    try {
      const viewer = freshViewer()
      for (const position of [1, 2, 3, 4, 5]) {
        const now = later()
        await store().putProgress([write(viewer, '1', report(now, { position }))], { now, timelineCap })
        const [lookup] = await other.getProgressMany([keyOf(viewer, '1')])
        expect(lookup?.record?.position).toBe(position)
        const page = await other.listTimeline(viewer, [1], undefined, 1)
        expect(page.entries[0]?.record.position).toBe(position)
      }
    } finally {
      await other.close()
    }
  })

  it('acknowledged writes are there after the store was closed and reopened', async () => {
    const viewer = freshNamedViewer()
    const now = later()
    const [outcome] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().setPaused(viewer, true, now)
    const settings = await store().getSettings(viewer)
    const reopened = await reopen()
    const [lookup] = await reopened.getProgressMany([keyOf(viewer, '1')])
    expect(lookup?.record).toEqual(writtenRecord(outcome))
    expect(await reopened.getSettings(viewer)).toEqual(settings)
    const [dirty] = await reopened
      .listDirty([...Array(regions()).keys()], now, 1_000_000)
      .then((keys) => keys.filter((key) => key.viewer === viewer && key.business === 1))
    expect(dirty).toEqual(keyOf(viewer, '1'))
  })

  it('versions continue to grow after the store was closed and reopened', async () => {
    const viewer = freshViewer()
    const now = later()
    const [before] = await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    const reopened = await reopen()
    const [after] = await reopened.putProgress([write(viewer, '1', report(now))], { now: now - 60_000, timelineCap })
    expect(writtenRecord(after).version).toBeGreaterThan(writtenRecord(before).version)
  })

  it('a write returns the record before it: none, a stored one, a tombstone, a cleared one, or the base', async () => {
    const viewer = freshViewer()
    const put = async (oid: string, record = report(later()), fields = {}) => {
      const [outcome] = await store().putProgress([write(viewer, oid, record, fields)], { now: later(), timelineCap })
      return outcome?.status === 'written' ? outcome : Promise.reject(new Error(`not written: ${JSON.stringify(outcome)}`))
    }
    const first = await put('1')
    expect(first.before).toBeUndefined()
    const second = await put('1', glance(later(), { device: 'téléphone' }))
    expect(second.before).toEqual(first.record)
    const third = await put('1')
    expect(third.before).toEqual(second.record)
    const [deleted] = await store().deleteProgress([keyOf(viewer, '1')], later())
    const fourth = await put('1', report(later(1_000)))
    expect(fourth.before).toEqual(deleted?.record)
    await store().clearProgress(viewer, 1, later())
    const [undefinedOr, base] = [(await put('1', report(later(1_000)))).before, report(later(), { version: 77 })]
    expect([undefined, fourth.record]).toContainEqual(undefinedOr)
    expect((await put('2', report(later()), { base })).before).toEqual(base)
  })

  it('a given base is merged as if it were stored', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const base = report(now - 5_000, { position: 500_000, device: 'phone', version: 77 })
    const [outcome] = await store().putProgress([write(viewer, '1', glance(now), { decisive: false, base })], { now, timelineCap })
    expect(writtenRecord(outcome)).toMatchObject({ viewedAt: now, position: 500_000, device: 'phone' })
  })

  it('a base that is newer than the report makes it stale', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const base = report(now, { position: 500_000, version: 77 })
    const [outcome] = await store().putProgress([write(viewer, '1', report(now - 1_000), { base })], { now, timelineCap })
    expect(outcome).toMatchObject({ status: 'stale', record: { position: 500_000 } })
    const [lookup] = await store().getProgressMany([keyOf(viewer, '1')])
    expect(lookup?.record).toBeUndefined()
  })

  it('a tombstone as base voids reports that are not newer', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const base = report(now - 1_000, { since: now - 1_000, rank: 0, deleted: true, version: 77 })
    const outcomes = await store().putProgress(
      [write(viewer, '1', report(now - 1_000), { base }), write(viewer, '2', report(now - 999), { base })],
      { now, timelineCap },
    )
    expect(outcomes[0]).toEqual({ status: 'stale', record: undefined, voidUntil: now - 1_000 })
    expect(writtenRecord(outcomes[1])).toMatchObject({ since: now - 1_000, deleted: false })
  })

  it('the first view of a day is reported once per viewer and business', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    const now = later()
    const day = 20_000
    const claims = [
      write(viewer, '1', report(now), { day }),
      write(viewer, '2', report(now), { day }),
      write(viewer, '1', report(now), { day, business: 2 }),
      write(other, '1', report(now), { day }),
      write(viewer, '3', report(now), { day: day + 1 }),
      write(viewer, '4', report(now), { day }),
      write(viewer, '5', report(now)),
    ]
    const outcomes = await store().putProgress(claims, { now, timelineCap })
    expect(outcomes.map((outcome) => outcome.status === 'written' && outcome.firstOfDay)).toEqual([
      true,
      false,
      true,
      true,
      true,
      false,
      false,
    ])
    const [again] = await store().putProgress([write(viewer, '1', report(later()), { day: day + 1 })], { now, timelineCap })
    expect(again).toMatchObject({ status: 'written', firstOfDay: false })
  })

  it('a day for all businesses is claimed once per viewer, beside the days of the businesses, and leaves one reward', async () => {
    for (const viewer of [freshViewer(), freshNamedViewer()]) {
      const now = later()
      const forAll = (oid: string, day: number, business = 1) => write(viewer, oid, report(now), { business, day, dayForAll: true })
      const claims = [
        forAll('1', 20_000, 300),
        forAll('2', 20_000),
        write(viewer, '3', report(now), { day: 20_000 }),
        forAll('4', 20_001),
        forAll('5', 20_000),
      ]
      const outcomes = await store().putProgress(claims, { now, timelineCap })
      expect(outcomes.map((outcome) => outcome.status === 'written' && outcome.firstOfDay)).toEqual([true, false, true, true, false])
      const [again] = await store().putProgress([forAll('6', 20_001, 2)], { now, timelineCap })
      expect(again).toMatchObject({ status: 'written', firstOfDay: false })
      const pending = async () => {
        const all = await store().listPendingRewards([regionOf(viewer, regions())], now, 1_000_000)
        return all.filter((each) => each.viewer === viewer).toSorted((a, b) => a.day - b.day || a.business - b.business)
      }
      const expected = [rewardOf(viewer, 0, 20_000), rewardOf(viewer, 1, 20_000), rewardOf(viewer, 0, 20_001)]
      expect(await pending()).toEqual(expected)
      await store().confirmRewards(expected)
      expect(await pending()).toEqual([])
    }
  })

  it('a stale report claims no day', async () => {
    const viewer = freshViewer()
    const now = later()
    await store().putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await store().putProgress([write(viewer, '1', report(now - 1), { day: 20_000 })], { now, timelineCap })
    const [outcome] = await store().putProgress([write(viewer, '1', report(later()), { day: 20_000 })], { now, timelineCap })
    expect(outcome).toMatchObject({ status: 'written', firstOfDay: true })
  })

  it('concurrent claims of one day in two processes have exactly one first', async () => {
    const other = await another()
    try {
      const viewer = freshViewer()
      const now = later()
      const outcomes = await Promise.all(
        numbered(10).map((oid) =>
          (Number(oid) % 2 === 0 ? store() : other).putProgress([write(viewer, oid, report(now), { day: 20_001 })], { now, timelineCap }),
        ),
      )
      expect(outcomes.flat().filter((outcome) => outcome.status === 'written' && outcome.firstOfDay)).toHaveLength(1)
    } finally {
      await other.close()
    }
  })

  it('an available store passes its check, and closing twice is harmless', async () => {
    await store().check()
    const other = await another()
    await other.check()
    await other.close()
    await other.close()
  })
}
