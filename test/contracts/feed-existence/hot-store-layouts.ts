/** Seen store contract: changes of the shape of the ring while the store is used. */
import { expect, it } from 'vitest'
import { shardOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { RingShape, SeenStore } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { freshViewer } from '../reports.ts'
import { AT, fold, isInRing, play, stage, stagedSeen, wholeRing } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

export function layoutsContract({ store, regions, shape, another, reopen }: SeenStoreSubject): void {
  it('layouts are listed in the order of their use, and a repeated layout is listed once', async () => {
    const before = await store().getRingLayouts()
    const since = (before.at(-1)?.since ?? AT) + 1_000
    const [first, second] = [
      { slots: 7, shards: 3 * regions(), since },
      { slots: 7, shards: 4 * regions(), since: since + 10 },
    ]
    await store().putRingLayout(second)
    await store().putRingLayout(first)
    await store().putRingLayout(first)
    await store().putRingLayout({ ...first, slots: 9 })
    await store().putRingLayout({ ...second, since: since + 20 })
    expect(await store().getRingLayouts()).toEqual([...before, first, second])
    await store().putRingLayout({ ...first, since: since + 30 })
    expect(await (await reopen()).getRingLayouts()).toEqual([...before, first, second, { ...first, since: since + 30 }])
  })

  it('staged plays are read, folded and removed from the ring by a process of any shape', async () => {
    const larger = { slots: shape().slots + 2, shards: shape().shards * 3 }
    const since = ((await store().getRingLayouts()).at(-1)?.since ?? AT) + 1_000
    await store().putRingLayout({ ...shape(), since })
    await store().putRingLayout({ ...larger, since: since + 10 })
    const wide = await another(larger)
    const narrow = await another(shape())
    const viewers = Array.from({ length: 40 }, freshViewer)
    const sizes = async (name: SeenStore, slot: number) => (await name.countRing())[slot] ?? 0
    const slot = shape().slots - 1
    const before = await sizes(wide, slot)
    await stage(narrow, slot, ...viewers.map((viewer) => play(viewer, '1')))
    await stage(wide, slot + 2, ...viewers.map((viewer) => play(viewer, '2')))
    for (const viewer of viewers) {
      expect(await isInRing(wide, slot, viewer, regions(), shape())).toBe(true)
      expect((await stagedSeen(narrow, viewer)).map(({ oid }) => oid)).toEqual(['1', '2'])
    }
    // Half of them are staged by both processes, and are in the ring by both shapes or by one.
    await stage(wide, slot, ...viewers.slice(0, 20).map((viewer) => play(viewer, '3')))
    for (const [index, viewer] of viewers.entries()) await fold(index % 2 === 0 ? wide : narrow, slot, viewer, play(viewer, '1'))
    const waiting = new Set(await wholeRing(wide, slot, larger.shards))
    expect(viewers.filter((viewer) => waiting.has(viewer))).toEqual(viewers.slice(0, 20))
    for (const [index, viewer] of viewers.entries()) await fold(index % 2 === 0 ? narrow : wide, slot, viewer, play(viewer, '3'))
    expect(await sizes(wide, slot)).toBe(before)
    expect((await wholeRing(wide, slot + 2, larger.shards)).filter((viewer) => viewers.includes(viewer))).toHaveLength(viewers.length)
    for (const viewer of viewers) await fold(narrow, slot + 2, viewer, play(viewer, '2'))
    expect((await wholeRing(wide, slot + 2, larger.shards)).filter((viewer) => viewers.includes(viewer))).toEqual([])
    await Promise.all([wide.close(), narrow.close()])
  })

  it('an entry of the ring by an unknown shape is found by its shard, and removed by a process that knows the shape', async () => {
    const wider = { slots: shape().slots, shards: shape().shards * 5 }
    const old = await another(wider)
    const shardBy = (viewer: string, { shards }: RingShape) => shardOf(viewer, regions(), shards)
    let viewer = freshViewer()
    const known = [shape(), ...(await store().getRingLayouts())]
    while (known.some((other) => shardBy(viewer, other) === shardBy(viewer, wider))) viewer = freshViewer()
    await stage(old, 2, play(viewer, '1'))
    await fold(store(), 2, viewer, play(viewer, '1'))
    expect(await isInRing(store(), 2, viewer, regions(), wider)).toBe(true)
    await fold(old, 2, viewer)
    expect(await isInRing(store(), 2, viewer, regions(), wider)).toBe(false)
    await old.close()
  })
}
