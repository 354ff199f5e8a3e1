/** Plays of unused viewers (`reports.ts`), and the reads of most tests of the seen store. */
import type { Play } from '../../../core/domain.ts'
import { shardOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { HotSeen, IssuedOptions, RingShape, SeenStore, StagedPlay } from '../../../subgraphs/feed-existence/stores/hot-store.ts'

export const AT = 1_790_000_000_000
export const CAPS: Omit<IssuedOptions, 'now'> = { cap: 5, minAgeMs: 1_000, hardCap: 8, ttlMs: 604_800_000 }

export function play(viewer: string, oid: string, playedAt = AT, business = 1): Play {
  return { viewer, business, oid, playedAt }
}

export function stagedOf({ business, oid, playedAt }: Play): StagedPlay {
  return { business, oid, playedAt }
}

export function stage(store: SeenStore, slot: number, ...plays: Play[]): Promise<{ viewer: string; staged: number }[]> {
  return store.stagePlays(plays, { now: AT, slot })
}

/** Removes the plays of one viewer, as the job does after a fold. */
export function fold(store: SeenStore, slot: number, viewer: string, ...plays: Play[]): Promise<void> {
  return store.removeStaged(slot, [{ viewer, plays: plays.map(stagedOf) }])
}

/** Sorted, because the order differs between stores. */
export async function stagedSeen(store: SeenStore, viewer: string, business = 1): Promise<HotSeen['staged']> {
  return (await store.getSeen(viewer, business)).staged.toSorted(byText)
}

export async function issuedOids(store: SeenStore, viewer: string, business = 1): Promise<string[]> {
  return (await store.getSeen(viewer, business)).issued.map(({ oid }) => oid)
}

export async function foldsOf(store: SeenStore, viewer: string): Promise<number> {
  return (await store.getSeen(viewer, 1)).folds
}

export async function stagedIn(store: SeenStore, slot: number, viewer: string): Promise<StagedPlay[]> {
  const [staged] = await store.readStaged(slot, [viewer])
  if (staged === undefined) throw new Error('a viewer without an answer')
  return staged.toSorted(byText)
}

export function byText(a: { business?: number; oid: string }, b: { business?: number; oid: string }): number {
  const [left, right] = [`${a.business}:${a.oid}`, `${b.business}:${b.oid}`]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Is the viewer in the ring, at the place of this shape? */
export async function isInRing(store: SeenStore, slot: number, viewer: string, regions: number, { shards }: RingShape): Promise<boolean> {
  return (await store.listRing(slot, shardOf(viewer, regions, shards), 1_000_000)).includes(viewer)
}

/** All shards of a slot. */
export async function wholeRing(store: SeenStore, slot: number, shards: number): Promise<string[]> {
  const lists = await Promise.all(Array.from({ length: shards }, (_, shard) => store.listRing(slot, shard, 1_000_000)))
  return lists.flat()
}
