/** Hot store contract: pages of merged timelines. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Place, TimelineEntry } from '../../../core/domain.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { freshNamedViewer, freshViewer, keyOf, later, numbered, report, write, writtenRecord } from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const timelineCap = 1_000

export function placeOf(entry: TimelineEntry): Place {
  return { viewedAt: entry.record.viewedAt, business: entry.business, oid: entry.oid }
}

async function listAll(store: HotStore, viewer: string, businesses: readonly number[], limit: number): Promise<Place[]> {
  const places: Place[] = []
  for (;;) {
    const page = await store.listTimeline(viewer, businesses, places.at(-1), limit)
    expect(page.entries.length).toBeLessThanOrEqual(limit)
    places.push(...page.entries.map(placeOf))
    if (page.entries.length < limit) return places
  }
}

export function timelinesContract({ store }: HotStoreSubject): void {
  it('entries come newest first, with their records', async () => {
    const viewer = freshNamedViewer()
    const now = later(100_000)
    const outcomes = await store().putProgress(
      [3, 1, 2].map((minute) => write(viewer, `episode ${minute}`, report(now + minute * 100, { position: minute }))),
      { now, timelineCap },
    )
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page).toEqual({
      entries: [
        { business: 1, oid: 'episode 3', record: writtenRecord(outcomes[0]) },
        { business: 1, oid: 'episode 2', record: writtenRecord(outcomes[2]) },
        { business: 1, oid: 'episode 1', record: writtenRecord(outcomes[1]) },
      ],
      truncated: [],
    })
  })

  it('a viewer without history has an empty timeline', async () => {
    expect(await store().listTimeline(freshViewer(), [1, 2, 3], undefined, 10)).toEqual({ entries: [], truncated: [] })
  })

  it('only the given businesses are listed, merged by time', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await store().putProgress(
      [1, 2, 3, 4, 5, 6].map((step) => write(viewer, String(step), report(now + step), { business: 1 + (step % 3) })),
      { now, timelineCap },
    )
    const pageOf = async (businesses: number[]): Promise<string[]> =>
      (await store().listTimeline(viewer, businesses, undefined, 10)).entries.map((entry) => entry.oid)
    expect(await pageOf([1, 2, 3])).toEqual(['6', '5', '4', '3', '2', '1'])
    expect(await pageOf([3, 1])).toEqual(['6', '5', '3', '2'])
    expect(await pageOf([2])).toEqual(['4', '1'])
    expect(await pageOf([])).toEqual([])
  })

  it('a subject that is watched again moves up and is listed once', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await store().putProgress(
      numbered(3).map((oid) => write(viewer, oid, report(now + Number(oid)))),
      { now, timelineCap },
    )
    await store().putProgress([write(viewer, '1', report(now + 50))], { now: later(), timelineCap })
    const page = await store().listTimeline(viewer, [1], undefined, 10)
    expect(page.entries.map((entry) => [entry.oid, entry.record.viewedAt - now])).toEqual([
      ['1', 50],
      ['3', 3],
      ['2', 2],
    ])
  })

  it('entries of the same time are ordered by business and then by packed id', async () => {
    const viewer = freshViewer()
    const now = later()
    const oids = ['b', '10', 'ab', '9', 'a', '100000000000000000', '007']
    await store().putProgress(
      [2, 1].flatMap((business) => oids.map((oid) => write(viewer, oid, report(now), { business }))),
      { now, timelineCap },
    )
    const expected = [2, 1].flatMap((business) => oids.map((oid) => ({ viewedAt: now, business, oid }))).toSorted(comparePlaces)
    for (const limit of [1, 2, 3, 5, 100]) expect(await listAll(store(), viewer, [1, 2], limit)).toEqual(expected)
  })

  it('a page begins strictly after its place, with or without an entry there', async () => {
    const viewer = freshViewer()
    const now = later(1_000)
    await store().putProgress(
      ['1', '2', '4', '5'].map((oid) => write(viewer, oid, report(now))),
      { now, timelineCap },
    )
    const after = async (place: Place): Promise<string[]> =>
      (await store().listTimeline(viewer, [1], place, 10)).entries.map((entry) => entry.oid)
    expect(await after({ viewedAt: now, business: 1, oid: '2' })).toEqual(['4', '5'])
    expect(await after({ viewedAt: now, business: 1, oid: '3' })).toEqual(['4', '5'])
    expect(await after({ viewedAt: now + 1, business: 1, oid: '9' })).toEqual(['1', '2', '4', '5'])
    expect(await after({ viewedAt: now - 1, business: 1, oid: '0' })).toEqual([])
    expect(await after({ viewedAt: now, business: 2, oid: '1' })).toEqual([])
    expect(await after({ viewedAt: now, business: 1, oid: 'x' })).toEqual([])
  })

  it('pages of any size join without gaps or duplicates, with ties, deletions and several businesses', async () => {
    const oid = fc.oneof(
      fc.nat({ max: 30 }).map(String),
      fc.constantFrom('a', 'bb', 'ü', '01', '9223372036854775807', '9223372036854775808'),
    )
    const entry = fc.record({ oid, business: fc.constantFrom(1, 2, 300), age: fc.nat({ max: 6 }) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat({ max: 3 }),
        async (reports, limit, deletions) => {
          const viewer = freshViewer()
          const now = later(1_000)
          await store().putProgress(
            reports.map((item) => write(viewer, item.oid, report(now - item.age), { business: item.business })),
            { now, timelineCap },
          )
          const deleted = reports.slice(0, deletions).map((item) => keyOf(viewer, item.oid, item.business))
          await store().deleteProgress(deleted, later())
          const expected = new Map<string, Place>()
          for (const { oid, business, age } of reports) {
            const name = `${business}:${oid}`
            const known = expected.get(name)
            if (known === undefined || known.viewedAt < now - age) expected.set(name, { viewedAt: now - age, business, oid })
          }
          for (const key of deleted) expected.delete(`${key.business}:${key.oid}`)
          expect(await listAll(store(), viewer, [300, 1, 2], limit)).toEqual([...expected.values()].toSorted(comparePlaces))
        },
      ),
      { numRuns: 40 },
    )
  })

  it('during writes, untouched entries are listed exactly once', async () => {
    const viewer = freshViewer()
    const base = later(10_000)
    await store().putProgress(
      numbered(60).map((oid) => write(viewer, oid, report(base + Math.floor(Number(oid) / 4)))),
      { now: base, timelineCap },
    )
    const touched = new Set<string>()
    const seen: Place[] = []
    for (let step = 1; ; step++) {
      const page = await store().listTimeline(viewer, [1], seen.at(-1), 7)
      seen.push(...page.entries.map(placeOf))
      if (page.entries.length < 7) break
      const [again, removed, fresh] = [String(step * 3), String(61 - step * 2), String(100 + step)]
      for (const oid of [again, removed, fresh]) touched.add(oid)
      const now = later(100)
      await store().putProgress([write(viewer, again, report(now)), write(viewer, fresh, report(now))], { now, timelineCap })
      await store().deleteProgress([keyOf(viewer, removed)], later())
    }
    const untouched = seen.map((place) => place.oid).filter((oid) => !touched.has(oid))
    expect(untouched.toSorted()).toEqual(
      numbered(60)
        .filter((oid) => !touched.has(oid))
        .toSorted(),
    )
    expect(seen).toEqual(seen.toSorted(comparePlaces))
  })
}
