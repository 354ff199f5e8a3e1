/**
 * Whom viewers follow, as longsets. A missing set is built from the marks of follows, and stored for the next reads.
 *
 * Builds of one viewer are joined. A caller that joined a build uses its set only if the set was stored: a build whose lease ended may have
 * read the marks before a follow that this caller must see. Such a caller builds again.
 *
 * While the hot store is down, sets are built from the record store for one answer, and are not stored.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { noteOrThrow, type Degraded } from '../../../core/outage/degraded.ts'
import type { FollowMarks } from '../../follow-marks.ts'
import { buildLongset, longsetCount, longsetHas, longsetIds } from '../packed/longset.ts'
import type { LongsetStore } from '../stores/longset-store.ts'

export type FollowLists = {
  /** In no order. Null: no store answers. */
  following(viewer: ViewerId, degraded: Degraded): Promise<readonly ViewerId[] | null>
  /** In the order of `users`. Null: no store answers. */
  follows(viewer: ViewerId, users: readonly ViewerId[], degraded: Degraded): Promise<(boolean | null)[]>
  /** The number of users that each user follows. Null: no store answers. */
  followingCounts(users: readonly ViewerId[], degraded: Degraded): Promise<(number | null)[]>
  figures(): GraphFigures
}

/** Reads of longsets, and their bytes. A build follows each miss. */
export type GraphFigures = { hits: number; misses: number; bytes: number }

/** `set`: null if no store answers. */
type Built = { set: Buffer | null; isStored: boolean; without: Degraded }

export function makeFollowLists(longsets: LongsetStore, marks: Pick<FollowMarks, 'all'>, ttlMs: number): FollowLists {
  const building = new Map<ViewerId, Promise<Built>>()
  const figures: GraphFigures = { hits: 0, misses: 0, bytes: 0 }

  /** The answer of the store, or undefined if it has no set or does not answer. */
  async function held<T>(ask: () => Promise<T | undefined>, degraded: Degraded): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      noteOrThrow(error, 'hotStore', degraded)
      return undefined
    }
  }

  /** Counts what the store had. */
  function countReads(found: readonly unknown[]): void {
    const misses = found.filter((each) => each === undefined).length
    figures.misses += misses
    figures.hits += found.length - misses
  }

  async function make(viewer: ViewerId): Promise<Built> {
    const without: Degraded = new Set()
    const lease = await longsets.beginBuild(viewer).catch((error: unknown) => noteOrThrow(error, 'hotStore', without))
    const ids = await marks.all(viewer, without)
    if (ids === null) return { set: null, isStored: false, without }
    const set = buildLongset(ids)
    const isStored = lease !== undefined && without.size === 0 && (await stored(viewer, set, lease))
    return { set, isStored, without }
  }

  /** A set that cannot be stored is still an answer. */
  async function stored(viewer: ViewerId, set: Buffer, lease: string): Promise<boolean> {
    try {
      return await longsets.put(viewer, set, lease, ttlMs)
    } catch {
      return false
    }
  }

  async function built(viewer: ViewerId, degraded: Degraded): Promise<Buffer | null> {
    const underWay = building.get(viewer)
    const joined = underWay && (await underWay)
    // While a store is down, a second build may lack the last follow too, and the answer says so.
    const { set, without } = joined !== undefined && (joined.isStored || joined.without.size > 0) ? joined : await own(viewer)
    for (const store of without) degraded.add(store)
    return set
  }

  function own(viewer: ViewerId): Promise<Built> {
    const build = make(viewer).finally(() => {
      if (building.get(viewer) === build) building.delete(viewer)
    })
    building.set(viewer, build)
    return build
  }

  return {
    async following(viewer, degraded) {
      const stored = await held(() => longsets.get(viewer), degraded)
      countReads([stored])
      const set = stored ?? (await built(viewer, degraded))
      figures.bytes += set?.length ?? 0
      return set && longsetIds(set)
    },
    async follows(viewer, users, degraded) {
      if (users.length === 0) return []
      const known = await held(() => longsets.has(viewer, users), degraded)
      countReads([known])
      if (known !== undefined) return known
      const set = await built(viewer, degraded)
      return users.map((user) => set && longsetHas(set, user))
    },
    async followingCounts(users, degraded) {
      const known = await held(() => longsets.countMany(users), degraded)
      countReads(known ?? users.map(() => undefined))
      return Promise.all(users.map(async (user, at) => known?.[at] ?? countOf(await built(user, degraded))))
    },
    figures: () => ({ ...figures }),
  }
}

function countOf(set: Buffer | null): number | null {
  return set && longsetCount(set)
}
