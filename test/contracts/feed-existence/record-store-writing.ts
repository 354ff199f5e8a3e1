/** Contract of the record store of filters: versions, batches, lists, any viewer and any size. */
import { expect, it } from 'vitest'
import type { FilterRow } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { MONTH, filterKey, filterWrite, freshViewers, someBytes } from './seen-filters.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import type { SeenRecordsSubject } from './record-store-subject.ts'

const ODD_VIEWERS = [
  '0',
  '007',
  '9223372036854775807',
  '9223372036854775808',
  '-1',
  ' ',
  "'; DROP TABLE seen_filters; --",
  'x\u0000y',
  'ä/ü',
  '👩‍🚀',
  'a'.repeat(64),
  '\u007f'.repeat(63),
]

export function seenWritingContract({ store, second, reopen }: SeenRecordsSubject): void {
  it('a filter that was never written is missing, and its first write expects 0', async () => {
    const viewer = freshViewer()
    expect(await store().getFilters([filterKey(viewer)])).toEqual([undefined])
    expect(await store().putFilters([filterWrite(viewer, someBytes(10), { expected: 1 })])).toEqual([false])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([undefined])
    expect(await store().putFilters([filterWrite(viewer, someBytes(10))])).toEqual([true])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(10), version: 1 }])
  })

  it('a write replaces the version it has read, and no other', async () => {
    const viewer = freshViewer()
    await store().putFilters([filterWrite(viewer, someBytes(10))])
    expect(await store().putFilters([filterWrite(viewer, someBytes(500, 2), { expected: 1 })])).toEqual([true])
    for (const expected of [0, 1, 3])
      expect(await store().putFilters([filterWrite(viewer, someBytes(9, 3), { expected })])).toEqual([false])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(500, 2), version: 2 }])
    expect(await store().putFilters([filterWrite(viewer, someBytes(3, 4), { expected: 2 })])).toEqual([true])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(3, 4), version: 3 }])
  })

  it('one of two writers with the same version wins, and the other is refused', async () => {
    for (let round = 0; round < 20; round++) {
      const viewer = freshViewer()
      const writes = [1, 2].map((seed) => filterWrite(viewer, someBytes(100, seed)))
      for (const expected of [0, 1]) {
        const [one, other] = await Promise.all(
          [store(), second()].map((own, at) => own.putFilters([{ ...(writes[at] as (typeof writes)[0]), expected }])),
        )
        expect(one?.[0]).toBe(other?.[0] === false)
        expect(other).toHaveLength(1)
        const winner = one?.[0] === true ? writes[0] : writes[1]
        expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: winner?.filter, version: expected + 1 }])
      }
    }
  })

  it('a repeated write is refused, and changes nothing', async () => {
    const viewer = freshViewer()
    const write = filterWrite(viewer, someBytes(10))
    expect(await store().putFilters([write])).toEqual([true])
    expect(await store().putFilters([write])).toEqual([false])
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(10), version: 1 }])
  })

  it('each write of a call is accepted or refused separately, in the order of the call', async () => {
    const viewers = [...freshViewers(8), freshNamedViewer(), 'z'.repeat(20) + freshViewer()]
    await store().putFilters(viewers.filter((_, at) => at % 3 === 0).map((viewer) => filterWrite(viewer, someBytes(4))))
    const expected = viewers.map((_, at) => (at % 2 === 0 ? 1 : 0))
    const writes = viewers.map((viewer, at) => filterWrite(viewer, someBytes(5, at), { expected: expected[at] ?? 0 }))
    const accepted = viewers.map((_, at) => (at % 3 === 0) === (at % 2 === 0))
    expect(await store().putFilters(writes.toReversed())).toEqual(accepted.toReversed())
    const found = await store().getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(found).toEqual(
      viewers.map((_, at) => {
        if (accepted[at] === true) return { filter: someBytes(5, at), version: at % 3 === 0 ? 2 : 1 }
        return at % 3 === 0 ? { filter: someBytes(4), version: 1 } : undefined
      }),
    )
  })

  it('a walk over all filters returns each once, in the order of viewer and month', async () => {
    const viewers = [...freshViewers(3), freshNamedViewer()]
    const writes = viewers.flatMap((viewer, at) => [0, MONTH, MONTH + 1].map((month) => filterWrite(viewer, someBytes(9, at), { month })))
    await store().putFilters(writes)
    for (const limit of [2, 1_000]) {
      const all: FilterRow[] = []
      for (let page = await store().listAllFilters({ viewer: viewers[0] as string, month: 0 }, limit); page.length > 0;) {
        expect(page.length).toBeLessThanOrEqual(limit)
        all.push(...page)
        page = await store().listAllFilters(all.at(-1), limit)
      }
      const own = all.filter(({ viewer }) => viewers.includes(viewer))
      expect(own).toEqual(writes.slice(1).map(({ viewer, month, filter, expiresAt }) => ({ viewer, month, filter, expiresAt, version: 1 })))
    }
    const [, one] = viewers
    const own = await store().listAllFilters(undefined, 2, one)
    const rest = await store().listAllFilters(own.at(-1), 100, one)
    expect([...own, ...rest].map(({ viewer, month }) => [viewer, month])).toEqual([0, MONTH, MONTH + 1].map((month) => [one, month]))
  })

  it('months of a viewer, and viewers of a month, are separate', async () => {
    const [one, other] = [freshViewer(), freshViewer()]
    await store().putFilters([
      filterWrite(one, someBytes(1, 1)),
      filterWrite(one, someBytes(1, 2), { month: MONTH + 1 }),
      filterWrite(other, someBytes(1, 3)),
    ])
    expect(await store().putFilters([filterWrite(one, someBytes(2, 4), { expected: 1 })])).toEqual([true])
    expect(await store().getFilters([filterKey(other), filterKey(one, MONTH + 1), filterKey(one), filterKey(other, MONTH + 1)])).toEqual([
      { filter: someBytes(1, 3), version: 1 },
      { filter: someBytes(1, 2), version: 1 },
      { filter: someBytes(2, 4), version: 2 },
      undefined,
    ])
  })

  it('a lookup answers in the order of its keys, with duplicates', async () => {
    const viewers = freshViewers(300)
    await store().putFilters(viewers.map((viewer, at) => filterWrite(viewer, someBytes(1 + (at % 40), at))))
    const asked = [...viewers.toReversed(), viewers[5] as string, freshViewer(), viewers[5] as string]
    const found = await store().getFilters(asked.map((viewer) => filterKey(viewer)))
    expect(found).toEqual(
      asked.map((viewer) => {
        const at = viewers.indexOf(viewer)
        return at < 0 ? undefined : { filter: someBytes(1 + (at % 40), at), version: 1 }
      }),
    )
  })

  it('a call of a thousand viewers writes each', async () => {
    const viewers = freshViewers(1_000)
    const writes = viewers.map((viewer, at) => filterWrite(viewer, someBytes(1 + ((at * 97) % 3_000), at)))
    expect(new Set(await store().putFilters(writes))).toEqual(new Set([true]))
    expect(new Set(await store().putFilters(writes.map((write) => ({ ...write, expected: 1 }))))).toEqual(new Set([true]))
    const found = await second().getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(found.every((each, at) => each?.version === 2 && each.filter.equals(writes[at]?.filter as Buffer))).toBe(true)
  })

  it('the filters of a viewer are listed by month, viewers in the given order', async () => {
    const [one, other, none] = [freshNamedViewer(), freshViewer(), freshViewer()]
    const months = [700, 3, 256, 255, 60_000]
    await store().putFilters(months.map((month) => filterWrite(one, someBytes(7, month), { month })))
    await store().putFilters([filterWrite(other, someBytes(8))])
    await store().putFilters([filterWrite(one, someBytes(9), { month: 3, expected: 1 })])
    const ofOne = months
      .toSorted((a, b) => a - b)
      .map((month) => ({ month, filter: month === 3 ? someBytes(9) : someBytes(7, month), version: month === 3 ? 2 : 1 }))
    const ofOther = [{ month: MONTH, filter: someBytes(8), version: 1 }]
    expect(await store().listFilters([none, one, other, one])).toEqual([[], ofOne, ofOther, ofOne])
  })

  it('a list shows no filters of a viewer with a longer id', async () => {
    const name = freshNamedViewer()
    await store().putFilters([name, `${name}0`, `${name}\u0000`].map((viewer, at) => filterWrite(viewer, someBytes(3, at))))
    const lists = await store().listFilters([name, `${name}0`, `${name}\u0000`, name.slice(0, -1)])
    expect(lists.map((list) => list.length)).toEqual([1, 1, 1, 0])
  })

  it('any id is a separate viewer', async () => {
    const month = 1 + Math.floor(Math.random() * 60_000)
    await store().putFilters(ODD_VIEWERS.map((viewer, at) => filterWrite(viewer, someBytes(11, at), { month })))
    const found = await store().getFilters(ODD_VIEWERS.map((viewer) => filterKey(viewer, month)))
    expect(found).toEqual(ODD_VIEWERS.map((_, at) => ({ filter: someBytes(11, at), version: 1 })))
    const lists = await store().listFilters(ODD_VIEWERS)
    expect(lists.map((list) => list.filter((each) => each.month === month).map(({ filter }) => filter))).toEqual(
      ODD_VIEWERS.map((_, at) => [someBytes(11, at)]),
    )
  })

  it('filters from one byte to three megabytes are read back unchanged', async () => {
    const sizes = [1, 2, 255, 256, 4_095, 8_192, 65_535, 65_536, 200_000, 2 ** 20, 3 * 2 ** 20]
    const viewers = freshViewers(sizes.length)
    const writes = viewers.map((viewer, at) => filterWrite(viewer, someBytes(sizes[at] as number, at)))
    expect(await store().putFilters(writes)).toEqual(sizes.map(() => true))
    const found = await store().getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(found.map((each) => each?.filter.length)).toEqual(sizes)
    expect(found.every((each, at) => each?.filter.equals(writes[at]?.filter as Buffer))).toBe(true)
    // Shrunk and grown in place.
    expect(
      await store().putFilters(writes.map((write, at) => ({ ...write, filter: writes.at(-1 - at)?.filter as Buffer, expected: 1 }))),
    ).toEqual(sizes.map(() => true))
    const turned = await store().listFilters(viewers)
    expect(turned.map(([each]) => each?.filter.length)).toEqual(sizes.toReversed())
    expect(turned.every(([each], at) => each?.filter.equals(writes.at(-1 - at)?.filter as Buffer))).toBe(true)
  })

  it('a later write changes no filter already read, and changed input bytes change no stored filter', async () => {
    const viewer = freshViewer()
    const bytes = someBytes(5_000, 1)
    await store().putFilters([filterWrite(viewer, bytes)])
    bytes.fill(0)
    const [first] = await store().getFilters([filterKey(viewer)])
    expect(first?.filter).toEqual(someBytes(5_000, 1))
    await store().putFilters([filterWrite(viewer, someBytes(5_000, 2), { expected: 1 })])
    await store().getFilters([filterKey(viewer)])
    expect(first?.filter).toEqual(someBytes(5_000, 1))
  })

  it('filters and their versions are there after the store was reopened', async () => {
    const viewer = freshNamedViewer()
    await store().putFilters([filterWrite(viewer, someBytes(70_000))])
    await store().putFilters([filterWrite(viewer, someBytes(70_001), { expected: 1 })])
    await reopen()
    expect(await store().getFilters([filterKey(viewer)])).toEqual([{ filter: someBytes(70_001), version: 2 }])
    expect(await store().putFilters([filterWrite(viewer, someBytes(1), { expected: 1 })])).toEqual([false])
  })
}
