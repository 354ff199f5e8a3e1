/** Seen store contract: staged plays, their slots, and the viewers in the ring. */
import { expect, it } from 'vitest'
import { PLAYED_AT_MAX, SLOTS_MAX } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { shardOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, numbered } from '../reports.ts'
import { AT, CAPS, byText, fold, isInRing, play, stage, stagedIn, stagedOf, stagedSeen, wholeRing } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

/** Ids that are not integers, are nearly integers, or have a meaning for a store. Tests append a unique part. */
const ODD = ['0', '007', '-1', '9223372036854775807', '9223372036854775808', '{a}', 'a:b', '*', '[?]', ' ', '\n', '\0', 'ü', '🙂', "'"]

export function stagingContract({ store, regions, shape, another, reopen }: SeenStoreSubject): void {
  const inRing = (viewer: string, slot: number) => isInRing(store(), slot, viewer, regions(), shape())

  it('a play is staged in its slot, and visible in every process', async () => {
    const viewer = freshViewer()
    expect(await stage(store(), 2, play(viewer, '7'))).toEqual([{ viewer, staged: 1 }])
    const other = await another()
    expect(await stagedSeen(other, viewer)).toEqual([{ oid: '7', playedAt: AT }])
    expect(await stagedIn(other, 2, viewer)).toEqual([{ business: 1, oid: '7', playedAt: AT }])
    expect(await stagedIn(other, 1, viewer)).toEqual([])
    await other.close()
  })

  it('the later of two plays of a subject in a slot stays, in any order, in one call or two', async () => {
    const viewer = freshViewer()
    await stage(store(), 2, play(viewer, '7', AT + 5), play(viewer, '7', AT + 9), play(viewer, '7', AT))
    expect(await stagedIn(store(), 2, viewer)).toEqual([{ business: 1, oid: '7', playedAt: AT + 9 }])
    expect(await stage(store(), 2, play(viewer, '7', AT + 1))).toEqual([{ viewer, staged: 1 }])
    expect(await stagedIn(store(), 2, viewer)).toEqual([{ business: 1, oid: '7', playedAt: AT + 9 }])
    await stage(store(), 2, play(viewer, '7', AT + 10))
    expect(await stagedSeen(store(), viewer)).toEqual([{ oid: '7', playedAt: AT + 10 }])
  })

  it('slots are separate: each has its own plays, and a reader gets the latest of all', async () => {
    const viewer = freshViewer()
    await stage(store(), 1, play(viewer, '7', AT + 5), play(viewer, '8', AT))
    expect(await stage(store(), 2, play(viewer, '7', AT))).toEqual([{ viewer, staged: 1 }])
    expect(await stagedIn(store(), 1, viewer)).toEqual([play('', '7', AT + 5), play('', '8', AT)].map(stagedOf))
    expect(await stagedIn(store(), 2, viewer)).toEqual([play('', '7', AT)].map(stagedOf))
    expect(await stagedSeen(store(), viewer)).toEqual([
      { oid: '7', playedAt: AT + 5 },
      { oid: '8', playedAt: AT },
    ])
    await fold(store(), 1, viewer, play(viewer, '7', AT + 5))
    expect(await stagedSeen(store(), viewer)).toEqual([
      { oid: '7', playedAt: AT },
      { oid: '8', playedAt: AT },
    ])
  })

  it('each viewer is returned with the number of plays in this slot, in order of first appearance', async () => {
    const [one, two, three] = [freshViewer(), freshNamedViewer(), freshViewer()]
    await stage(store(), 3, play(two, '1'), play(two, '2'))
    await stage(store(), 4, play(two, '9'))
    expect(await stage(store(), 3, play(three, '1'), play(two, '2'), play(one, '1'), play(two, '3', AT, 2), play(three, '2'))).toEqual([
      { viewer: three, staged: 2 },
      { viewer: two, staged: 3 },
      { viewer: one, staged: 1 },
    ])
    expect(await stage(store(), 3)).toEqual([])
  })

  it('a viewer is in the ring of one shard and slot, once, and in no other', async () => {
    const viewer = freshViewer()
    expect(await inRing(viewer, 2)).toBe(false)
    await stage(store(), 2, play(viewer, '1'), play(viewer, '2'))
    await stage(store(), 2, play(viewer, '3', AT, 2))
    expect(await inRing(viewer, 2)).toBe(true)
    for (const slot of [0, 1, 2, 3]) {
      expect((await wholeRing(store(), slot, shape().shards)).filter((name) => name === viewer)).toHaveLength(slot === 2 ? 1 : 0)
    }
  })

  it('the ring counts viewers, slot by slot', async () => {
    const before = await store().countRing()
    const viewers = Array.from({ length: 30 }, freshViewer)
    await stage(store(), 4, ...viewers.flatMap((viewer) => [play(viewer, '1'), play(viewer, '2')]))
    await stage(store(), 5, ...viewers.slice(0, 4).map((viewer) => play(viewer, '1')))
    const grown = (await store().countRing()).map((count, slot) => count - (before[slot] ?? 0))
    expect(grown).toEqual(before.map((_, slot) => (slot === 4 ? 30 : slot === 5 ? 4 : 0)))
    expect(before.length).toBeGreaterThanOrEqual(shape().slots)
  })

  it('the shards with viewers are found among those that are asked for', async () => {
    const all = Array.from({ length: shape().shards }, (_, shard) => shard)
    const listed = async (slot: number) => {
      const lists = await Promise.all(all.map((shard) => store().listRing(slot, shard, 1)))
      return all.filter((shard) => (lists[shard]?.length ?? 0) > 0)
    }
    const viewers = Array.from({ length: 3 }, freshViewer)
    await stage(store(), 1, ...viewers.map((viewer) => play(viewer, '1')))
    const shards = viewers.map((viewer) => shardOf(viewer, regions(), shape().shards))
    for (const slot of [0, 1, shape().slots - 1]) {
      const filled = await listed(slot)
      // In any order of the asked shards.
      expect((await store().filledShards(slot, all.toReversed())).toSorted((a, b) => a - b)).toEqual(filled)
      const some = all.filter((shard) => shard % 3 === 1)
      expect((await store().filledShards(slot, some)).toSorted((a, b) => a - b)).toEqual(filled.filter((shard) => some.includes(shard)))
    }
    expect(await listed(1)).toEqual(expect.arrayContaining([...new Set(shards)]))
    expect(await store().filledShards(1, [])).toEqual([])
  })

  it('a shard lists at most the given number of viewers, each once, and all within the limit', async () => {
    const region = 1
    const perRegion = shape().shards / regions()
    const viewers = Array.from({ length: perRegion * 20 }, () => freshViewerIn(region, regions()))
    await stage(store(), 3, ...viewers.map((viewer) => play(viewer, '1')))
    const listed: string[] = []
    for (let shard = region; shard < shape().shards; shard += regions()) {
      const all = await store().listRing(3, shard, 1_000_000)
      expect(new Set(all).size).toBe(all.length)
      const some = await store().listRing(3, shard, 3)
      expect([some.length, some.every((viewer) => all.includes(viewer))]).toEqual([Math.min(3, all.length), true])
      expect(await store().listRing(3, shard, 0)).toEqual([])
      listed.push(...all)
    }
    expect(viewers.filter((viewer) => !listed.includes(viewer))).toEqual([])
  })

  it('equal ids of two businesses are two subjects', async () => {
    const viewer = freshViewer()
    const plays = [play(viewer, '7', AT, 1), play(viewer, '7', AT + 1, 2), play(viewer, '7', AT + 2, 65_535)]
    expect(await stage(store(), 2, ...plays)).toEqual([{ viewer, staged: 3 }])
    expect(await stagedSeen(store(), viewer, 2)).toEqual([{ oid: '7', playedAt: AT + 1 }])
    expect(await stagedSeen(store(), viewer, 3)).toEqual([])
    expect(await stagedIn(store(), 2, viewer)).toEqual(plays.map(stagedOf).toSorted(byText))
    await fold(store(), 2, viewer, play(viewer, '7', AT, 1))
    expect(await Promise.all([1, 2, 65_535].map(async (business) => (await stagedSeen(store(), viewer, business)).length))).toEqual([
      0, 1, 1,
    ])
  })

  it('viewers and subjects with unusual ids are separate, listed and folded', async () => {
    const own = freshNamedViewer()
    const viewers = [
      ...ODD.map((odd) => `${own}${odd}`),
      ...ODD.map((odd) => `${odd}${own}`),
      'v'.repeat(64 - own.length + 1) + own.slice(1, -1),
    ]
    for (const [index, viewer] of viewers.entries()) await stage(store(), 1, ...ODD.map((oid) => play(viewer, oid, AT + index)))
    for (const [index, viewer] of viewers.entries()) {
      expect(await stagedIn(store(), 1, viewer)).toEqual(ODD.map((oid) => stagedOf(play(viewer, oid, AT + index))).toSorted(byText))
      expect(await inRing(viewer, 1)).toBe(true)
      await fold(store(), 1, viewer, ...ODD.map((oid) => play(viewer, oid, AT + index)))
      expect(await inRing(viewer, 1)).toBe(false)
    }
    expect((await store().getSeenMany(viewers.map((viewer) => ({ viewer, business: 1 })))).every(({ staged }) => staged.length === 0)).toBe(
      true,
    )
  })

  it('the first and the last time, slot and business are stored unchanged', async () => {
    const viewer = freshViewer()
    const plays = [play(viewer, '1', 0, 1), play(viewer, '1', PLAYED_AT_MAX, 65_535)]
    for (const slot of [0, SLOTS_MAX - 1]) {
      await stage(store(), slot, ...plays)
      expect(await stagedIn(store(), slot, viewer)).toEqual(plays.map(stagedOf).toSorted(byText))
    }
    expect(await stagedSeen(store(), viewer, 65_535)).toEqual([{ oid: '1', playedAt: PLAYED_AT_MAX }])
    for (const slot of [0, SLOTS_MAX - 1]) {
      await fold(store(), slot, viewer, ...plays)
      expect(await stagedIn(store(), slot, viewer)).toEqual([])
    }
  })

  it('thousands of plays of one viewer are staged, read and folded', async () => {
    const viewer = freshViewer()
    const plays = numbered(5_000, 1_000_000).map((oid, index) => play(viewer, oid, AT + index))
    expect(await stage(store(), 2, ...plays)).toEqual([{ viewer, staged: 5_000 }])
    expect(await stagedIn(store(), 2, viewer)).toEqual(plays.map(stagedOf))
    await fold(store(), 2, viewer, ...plays.slice(0, 4_999))
    expect(await stagedIn(store(), 2, viewer)).toEqual(plays.slice(4_999).map(stagedOf))
    expect(await inRing(viewer, 2)).toBe(true)
  })

  it('a viewer at the limit of a slot is refused as a whole, with the claims of days; other slots and viewers continue', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    const stageMax = (slot: number, who: string, oid: string, day?: number) =>
      store().stagePlays([{ ...play(who, oid), day }], { now: AT, slot, max: 2 })
    await stage(store(), 2, play(viewer, '1'))
    expect(await stageMax(2, viewer, '2')).toEqual([{ viewer, staged: 2 }])
    const before = await store().getSeen(viewer, 1)
    await expect(stageMax(2, viewer, '3', 20_000)).rejects.toMatchObject({ code: 'PLAYS_TOO_MANY' })
    await expect(stageMax(2, viewer, '2')).rejects.toMatchObject({ code: 'PLAYS_TOO_MANY' })
    expect(await store().getSeen(viewer, 1)).toEqual(before)
    expect(await stageMax(2, other, '3')).toEqual([{ viewer: other, staged: 1 }])
    expect(await stage(store(), 2, play(viewer, '3'))).toEqual([{ viewer, staged: 3 }])
    await fold(store(), 2, viewer, play(viewer, '1'), play(viewer, '2'))
    const day = { business: 1, day: 20_000 }
    expect(await stageMax(2, viewer, '4', 20_000)).toEqual([{ viewer, staged: 2, firsts: [day] }])
    expect(await stageMax(3, viewer, '5')).toEqual([{ viewer, staged: 1 }])
  })

  it('many viewers and businesses are read at once, in order, some of them twice', async () => {
    const [one, two, nobody] = [freshViewer(), freshNamedViewer(), freshViewer()]
    await stage(store(), 0, play(one, 'a'), play(one, 'b', AT, 2), play(two, 'c'))
    await fold(store(), 0, one, play(one, 'b', AT, 2))
    await store().putIssued(two, 1, ['x'], { ...CAPS, now: AT, cap: 1 })
    const of = [
      { viewer: one, business: 1 },
      { viewer: two, business: 1 },
      { viewer: nobody, business: 1 },
      { viewer: one, business: 2 },
      { viewer: one, business: 1 },
    ]
    const answers = await store().getSeenMany(of)
    expect(answers).toEqual(await Promise.all(of.map(({ viewer, business }) => store().getSeen(viewer, business))))
    expect(answers.map(({ issued, staged }) => [...issued, ...staged].map(({ oid }) => oid).join(''))).toEqual(['a', 'xc', '', '', 'a'])
    expect(answers.map(({ folds }) => folds > 0)).toEqual([true, true, false, true, true])
    expect(await store().readStaged(0, [nobody, two, one])).toEqual([[], [stagedOf(play(two, 'c'))], [stagedOf(play(one, 'a'))]])
    expect(await store().readStaged(0, [])).toEqual([])
  })

  it('staged plays and their places in the ring are there after the store was reopened', async () => {
    const viewer = freshViewer()
    await stage(store(), 3, play(viewer, '7'))
    await fold(store(), 3, viewer)
    await reopen()
    expect(await stagedSeen(store(), viewer)).toEqual([{ oid: '7', playedAt: AT }])
    expect(await inRing(viewer, 3)).toBe(true)
  })
}
