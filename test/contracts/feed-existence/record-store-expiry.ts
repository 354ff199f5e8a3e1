/** Contract of the record store of filters: quarantine, expiry and counts. */
import { expect, it } from 'vitest'
import type { SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import { DAY_MS, EXPIRES_AT, MONTH, filterKey, filterWrite, freshViewers, purgeAll, someBytes } from './seen-filters.ts'
import type { SeenRecordsSubject } from './record-store-subject.ts'

/** Each test that purges has its own days, later than those before; none reaches EXPIRES_AT. */
let day = 1_000

function freshDay(): number {
  day += 10
  return day
}

export function seenExpiryContract({ store, second, reopen }: SeenRecordsSubject): void {
  async function asideOf(viewer: string) {
    return (await store().listQuarantined(100_000)).filter((each) => each.viewer === viewer).toSorted((a, b) => a.version - b.version)
  }

  async function there(viewers: readonly string[]): Promise<string[]> {
    const found = await store().getFilters(viewers.map((viewer) => filterKey(viewer)))
    return viewers.filter((_, at) => found[at] !== undefined)
  }

  it('a quarantined filter is gone for readers, and kept with the reason', async () => {
    const viewer = freshNamedViewer()
    await store().putFilters([filterWrite(viewer, someBytes(3_000)), filterWrite(viewer, someBytes(5), { month: MONTH + 1 })])
    await store().quarantineFilter(filterKey(viewer), 1, 'a checksum that is "wrong" – ü 🙂')
    expect(await store().getFilters([filterKey(viewer), filterKey(viewer, MONTH + 1)])).toEqual([
      undefined,
      { filter: someBytes(5), version: 1 },
    ])
    expect((await store().listFilters([viewer]))[0]?.map(({ month }) => month)).toEqual([MONTH + 1])
    await reopen()
    expect(await asideOf(viewer)).toEqual([
      { viewer, month: MONTH, version: 1, filter: someBytes(3_000), reason: 'a checksum that is "wrong" – ü 🙂' },
    ])
  })

  it('a quarantined filter is rebuilt by a write that expects 0, with a new version', async () => {
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(10))])
    await store().putFilters([filterWrite(viewer, someBytes(11), { expected: 1 })])
    await store().quarantineFilter(filterKey(viewer), 2, 'broken')
    for (const expected of [1, 2, 3]) expect(await store().putFilters([filterWrite(viewer, someBytes(1), { expected })])).toEqual([false])
    expect(await store().putFilters([filterWrite(viewer, someBytes(12))])).toEqual([true])
    const [rebuilt] = await store().getFilters([filterKey(viewer)])
    expect(rebuilt?.filter).toEqual(someBytes(12))
    expect(rebuilt?.version).toBeGreaterThan(2)
    // A writer that read the broken filter, or none before it, is refused.
    for (const expected of [0, 1, 2]) expect(await store().putFilters([filterWrite(viewer, someBytes(1), { expected })])).toEqual([false])
    expect(await store().putFilters([filterWrite(viewer, someBytes(13), { expected: rebuilt?.version ?? 0 })])).toEqual([true])
  })

  it('a filter quarantined with a replacement has it at once, and keeps its expiry', async () => {
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(10))])
    const { expiring: before } = await store().measureFilters()
    for (const version of [2, 0]) await store().quarantineFilter(filterKey(viewer), version, 'another', someBytes(1))
    await Promise.all([store(), second()].map((own) => own.quarantineFilter(filterKey(viewer), 1, 'broken', someBytes(4_000))))
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(4_000), version: 2 }])
    expect((await asideOf(viewer)).map(({ filter, reason }) => ({ filter, reason }))).toEqual([{ filter: someBytes(10), reason: 'broken' }])
    expect((await store().measureFilters()).expiring).toEqual(before)
    for (const expected of [0, 1]) expect(await store().putFilters([filterWrite(viewer, someBytes(1), { expected })])).toEqual([false])
    expect(await store().putFilters([filterWrite(viewer, someBytes(12), { expected: 2 })])).toEqual([true])
  })

  it('one of two concurrent rebuilds wins', async () => {
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(10))])
    await store().quarantineFilter(filterKey(viewer), 1, 'broken')
    const [one, other] = await Promise.all([store(), second()].map((own, at) => own.putFilters([filterWrite(viewer, someBytes(10, at))])))
    expect([one, other]).toEqual(one?.[0] === true ? [[true], [false]] : [[false], [true]])
  })

  it('a second quarantine, or one of another version or a missing filter, changes nothing', async () => {
    const [viewer, none] = [freshViewer(), freshViewer()]
    await store().quarantineFilter(filterKey(none), 0, 'nothing there')
    await store().quarantineFilter(filterKey(none), 1, 'nothing there')
    await store().putFilters([filterWrite(viewer, someBytes(10))])
    for (const version of [0, 2]) await store().quarantineFilter(filterKey(viewer), version, 'another')
    expect(await there([viewer, none])).toEqual([viewer])
    await store().quarantineFilter(filterKey(viewer), 1, 'first')
    await store().quarantineFilter(filterKey(viewer), 1, 'again')
    await store().quarantineFilter(filterKey(viewer), 2, 'what is there no more')
    await Promise.all([store(), second()].map((own) => own.quarantineFilter(filterKey(viewer), 1, 'at once')))
    expect((await asideOf(viewer)).map(({ reason }) => reason)).toEqual(['first'])
    await store().putFilters([filterWrite(viewer, someBytes(20))])
    await store().quarantineFilter(filterKey(viewer), 1, 'too late')
    expect(await there([viewer])).toEqual([viewer])
    expect(await asideOf(none)).toEqual([])
  })

  it('a filter may be quarantined more than once, and each is kept', async () => {
    const viewer = freshViewer()
    const versions: number[] = []
    for (const seed of [1, 2, 3]) {
      await store().putFilters([filterWrite(viewer, someBytes(10, seed))])
      const [stored] = await store().getFilters([filterKey(viewer)])
      versions.push(stored?.version ?? 0)
      await store().quarantineFilter(filterKey(viewer), stored?.version ?? 0, `the ${seed}`)
    }
    const aside = await asideOf(viewer)
    expect(aside.map(({ version, reason, filter }) => [version, reason, filter])).toEqual(
      [1, 2, 3].map((seed, at) => [versions[at], `the ${seed}`, someBytes(10, seed)]),
    )
    expect(await store().listQuarantined(2)).toHaveLength(2)
    expect(await store().listQuarantined(0)).toEqual([])
  })

  it('quarantined filters are listed for one viewer, and counted', async () => {
    // Ids with a common prefix are still different viewers.
    const named = freshNamedViewer()
    const [viewer, ...others] = [named, `${named}x`, `${named}xx`, freshViewer()] as [string, ...string[]]
    const before = await store().countQuarantined()
    const keys = [filterKey(viewer, 0), filterKey(viewer), filterKey(viewer, MONTH + 1), ...others.map((other) => filterKey(other))]
    await store().putFilters(keys.map((key) => filterWrite(key.viewer, someBytes(10), { month: key.month })))
    for (const key of keys) await store().quarantineFilter(key, 1, 'broken')
    const listed = await second().listQuarantined(10, viewer)
    expect(new Set(listed.map(({ viewer: of, month }) => `${of}: ${month}`))).toEqual(
      new Set([0, MONTH, MONTH + 1].map((month) => `${viewer}: ${month}`)),
    )
    expect(await store().listQuarantined(2, viewer)).toHaveLength(2)
    expect(await store().listQuarantined(10, freshViewer())).toEqual([])
    expect(await second().countQuarantined()).toBe(before + 6)
  })

  it('a long reason is truncated to fit', async () => {
    const [long, empty] = [freshViewer(), freshViewer()]
    await store().putFilters([long, empty].map((viewer) => filterWrite(viewer, someBytes(10))))
    await store().quarantineFilter(filterKey(long), 1, `a${'🙂'.repeat(3_000)}`)
    await store().quarantineFilter(filterKey(empty), 1, '')
    expect((await asideOf(long))[0]?.reason).toBe(`a${'🙂'.repeat(124)}\ufffd`)
    expect((await asideOf(empty))[0]?.reason).toBe('')
  })

  it('a filter of megabytes may be quarantined', async () => {
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(3 * 2 ** 20))])
    await store().quarantineFilter(filterKey(viewer), 1, 'large')
    expect((await asideOf(viewer))[0]?.filter.equals(someBytes(3 * 2 ** 20))).toBe(true)
  })

  it('a purge removes filters that expired at the given time or before, and no others', async () => {
    const at = freshDay() * DAY_MS
    await purgeAll(store(), at, 1_000)
    const [before, exactly, after, late] = freshViewers(4) as [string, string, string, string]
    await store().putFilters([
      filterWrite(before, someBytes(10), { expiresAt: at + 1 }),
      filterWrite(exactly, someBytes(10), { expiresAt: at + 1_000 }),
      filterWrite(after, someBytes(10), { expiresAt: at + 1_001 }),
      filterWrite(late, someBytes(10)),
    ])
    expect(await purgeAll(store(), at, 1_000)).toEqual([])
    expect(await purgeAll(store(), at + 1_000, 1_000)).toEqual([2])
    expect(await there([before, exactly, after, late])).toEqual([after, late])
    expect(await store().listFilters([before, after])).toEqual([[], [{ month: MONTH, filter: someBytes(10), version: 1 }]])
    expect(await store().purgeExpired(at + 5_000, 0)).toBe(0)
    expect(await purgeAll(store(), at + 5_000, 1_000)).toEqual([1])
  })

  it('a purge removes at most its limit at a time, until nothing is left', async () => {
    const at = freshDay() * DAY_MS
    await purgeAll(store(), at, 1_000)
    const viewers = freshViewers(95)
    await store().putFilters(viewers.map((viewer, i) => filterWrite(viewer, someBytes(i + 1), { expiresAt: at + 1 + (i % 7) })))
    const went = await purgeAll(store(), at + 10, 20)
    expect(Math.max(...went)).toBeLessThanOrEqual(20)
    expect(went.reduce((sum, some) => sum + some, 0)).toBe(95)
    expect(await there(viewers)).toEqual([])
  })

  it('two concurrent purges remove each filter once', async () => {
    const at = freshDay() * DAY_MS
    await purgeAll(store(), at, 1_000)
    const viewers = freshViewers(200)
    await store().putFilters(viewers.map((viewer) => filterWrite(viewer, someBytes(100), { expiresAt: at + 1 })))
    const went = await Promise.all([store(), second()].map((own) => purgeAll(own, at + 1, 30)))
    expect(went.flat().reduce((sum, some) => sum + some, 0)).toBe(200)
  })

  it('a filter expires at the time of its first write, regardless of later ones', async () => {
    const at = freshDay() * DAY_MS
    await purgeAll(store(), at, 1_000)
    const [early, late] = [freshViewer(), freshViewer()]
    await store().putFilters([filterWrite(early, someBytes(10), { expiresAt: at + 1 }), filterWrite(late, someBytes(10))])
    await store().putFilters([
      filterWrite(early, someBytes(11), { expected: 1 }),
      filterWrite(late, someBytes(11), { expected: 1, expiresAt: at + 1 }),
    ])
    // Refused writes do not change it either.
    await store().putFilters([filterWrite(late, someBytes(12), { expected: 1, expiresAt: at + 1 })])
    expect(await purgeAll(store(), at + 1, 1_000)).toEqual([1])
    expect(await there([early, late])).toEqual([late])
  })

  it('a quarantined and rebuilt filter expires at the time of its first write, together with its quarantined versions', async () => {
    const at = freshDay() * DAY_MS
    await purgeAll(store(), at, 1_000)
    const [rebuilt, left, late] = freshViewers(3) as [string, string, string]
    const write = async (own: SeenRecords, viewer: string, expiresAt: number): Promise<void> => {
      await own.putFilters([filterWrite(viewer, someBytes(10), { expiresAt })])
      await own.quarantineFilter(filterKey(viewer), 1, 'broken')
    }
    await write(store(), rebuilt, at + 1)
    await write(store(), left, at + 1)
    await write(store(), late, EXPIRES_AT)
    await store().putFilters([filterWrite(rebuilt, someBytes(11), { expiresAt: EXPIRES_AT })])
    const went = await purgeAll(store(), at + 1, 1_000)
    expect(went.reduce((sum, some) => sum + some, 0)).toBe(4)
    expect(await there([rebuilt])).toEqual([])
    expect([await asideOf(rebuilt), await asideOf(left)]).toEqual([[], []])
    expect(await asideOf(late)).toHaveLength(1)
  })

  it('a purged filter may be written again as if it were new', async () => {
    const at = freshDay() * DAY_MS
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(10), { expiresAt: at + 1 })])
    await store().putFilters([filterWrite(viewer, someBytes(10), { expiresAt: at + 1, expected: 1 })])
    await purgeAll(store(), at + 1, 1_000)
    expect(await store().putFilters([filterWrite(viewer, someBytes(10), { expected: 2 })])).toEqual([false])
    expect(await store().putFilters([filterWrite(viewer, someBytes(9))])).toEqual([true])
    expect(await purgeAll(store(), at + 10, 1_000)).toEqual([])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(9), version: 1 }])
  })

  it('measuring counts readable filters: their number, their bytes, and their expiry', async () => {
    const first = freshDay()
    await purgeAll(store(), first * DAY_MS, 1_000)
    const before = await store().measureFilters()
    const [one, other, next, aside] = freshViewers(4) as [string, string, string, string]
    const lastOfDay = (first + 1) * DAY_MS - 1
    await store().putFilters([
      filterWrite(one, someBytes(100), { expiresAt: lastOfDay }),
      filterWrite(other, someBytes(20), { expiresAt: first * DAY_MS + 5 }),
      filterWrite(next, someBytes(3), { expiresAt: lastOfDay + 1 }),
      filterWrite(aside, someBytes(50_000), { expiresAt: lastOfDay }),
      // Notes about a viewer are not filters.
      filterWrite(one, someBytes(7_000), { month: 0, expiresAt: lastOfDay }),
    ])
    await store().putFilters([filterWrite(other, someBytes(200), { expected: 1 })])
    await store().quarantineFilter(filterKey(aside), 1, 'broken')
    const after = await store().measureFilters()
    expect(after.filters - before.filters).toBe(3)
    expect(after.bytes - before.bytes).toBe(303)
    expect(after.expiring.filter((each) => each.day >= first && each.day <= first + 2)).toEqual([
      { day: first, filters: 2 },
      { day: first + 1, filters: 1 },
    ])
    expect(after.expiring.map((each) => each.day)).toEqual(after.expiring.map((each) => each.day).toSorted((a, b) => a - b))
    expect(after.expiring.reduce((sum, each) => sum + each.filters, 0)).toBe(after.filters)
  })
}
