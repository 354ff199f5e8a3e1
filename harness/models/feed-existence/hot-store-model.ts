/**
 * The seen store in plain maps. Every adapter is compared with it, and tests and the simulator use it if they do not test the store itself.
 * It implements the whole port as documented, without optimizations, and passes the contract. Everything happens at once, inside the call:
 * no call fails, and none sees half of another.
 *
 * Models that share a state are processes that share a store. Each has the shape of the ring it was started with.
 */
import type { BusinessNumber, RewardEvent, ViewerId } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import { claimedBusiness, rewardOf } from '../../../core/rewards.ts'
import { shardOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { issuedAtOf, momentOf, newestFirst } from '../../../subgraphs/feed-existence/stores/issued-moments.ts'
import { inOrderOfUse } from '../../../subgraphs/feed-existence/stores/ring-layouts.ts'
import type {
  HotSeen,
  IssuedOptions,
  RingLayout,
  RingShape,
  SeenStore,
  StagedPlay,
} from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { tooManyStaged } from '../../../subgraphs/feed-existence/stores/staged-limit.ts'

type Staged = StagedPlay & { slot: number }

/** Staged plays by slot, business and oid. */
type Viewer = { staged: Map<string, Staged>; folds: number }

export type SeenState = {
  /** By viewer and business: oid → time. */
  issued: Map<string, Map<string, number>>
  viewers: Map<ViewerId, Viewer>
  /** By slot and shard. */
  ring: Map<string, Set<ViewerId>>
  layouts: RingLayout[]
  /** Claimed days, by kind, business and viewer. */
  days: Set<string>
  /** By id. */
  rewards: Map<string, { event: RewardEvent; claimedAt: number }>
}

export function makeSeenState(): SeenState {
  return { issued: new Map(), viewers: new Map(), ring: new Map(), layouts: [], days: new Set(), rewards: new Map() }
}

export function makeSeenStoreModel(regions: number, shape: RingShape, state: SeenState = makeSeenState()): SeenStore {
  const ringOf = (slot: number, shard: number): Set<ViewerId> => {
    const ring = state.ring.get(`${slot}:${shard}`) ?? new Set<ViewerId>()
    state.ring.set(`${slot}:${shard}`, ring)
    return ring
  }
  const viewerOf = (viewer: ViewerId): Viewer => {
    const found = state.viewers.get(viewer) ?? { staged: new Map<string, Staged>(), folds: 0 }
    state.viewers.set(viewer, found)
    return found
  }
  const stagedIn = (viewer: ViewerId, slot: number): Staged[] => stagedOf(state, viewer).filter((play) => play.slot === slot)

  return {
    putIssued: async (viewer, business, oids, options) => putIssued(state, viewer, business, oids, options),
    async purgeIssued(servedBefore, limit) {
      const over = [...state.issued].filter(([, held]) => servedAt(held) < servedBefore).slice(0, Math.max(0, limit))
      for (const [key] of over) state.issued.delete(key)
      return over.length
    },
    async stagePlays(plays, { now, slot, max = Infinity }) {
      const full = plays.find(({ viewer }) => stagedIn(viewer, slot).length >= max)
      if (full !== undefined) throw tooManyStaged(full.viewer, max)
      const firsts = plays.filter(
        (play) => play.day !== undefined && claim(state, rewardOf(play.viewer, claimedBusiness(play), play.day, 'FIRST_PLAY'), now),
      )
      for (const { viewer, business, oid, playedAt } of plays) {
        const held = viewerOf(viewer)
        if (held.folds === 0) held.folds = now
        const { staged } = held
        const key = `${slot}:${business}:${oid}`
        if (playedAt > (staged.get(key)?.playedAt ?? -1)) staged.set(key, { business, oid, playedAt, slot })
        ringOf(slot, shardOf(viewer, regions, shape.shards)).add(viewer)
      }
      return [...new Set(plays.map(({ viewer }) => viewer))].map((viewer) => {
        const own = firsts.flatMap((play) => (play.viewer === viewer ? [{ business: claimedBusiness(play), day: play.day as number }] : []))
        return { viewer, staged: stagedIn(viewer, slot).length, ...(own.length > 0 ? { firsts: own } : {}) }
      })
    },
    getSeen: async (viewer, business) => getSeen(state, viewer, business),
    getSeenMany: async (of) => of.map(({ viewer, business }) => getSeen(state, viewer, business)),

    filledShards: async (slot, shards) => shards.filter((shard) => (state.ring.get(`${slot}:${shard}`)?.size ?? 0) > 0),
    listRing: async (slot, shard, limit) => [...(state.ring.get(`${slot}:${shard}`) ?? [])].slice(0, limit),
    readStaged: async (slot, viewers) =>
      viewers.map((viewer) => stagedIn(viewer, slot).map(({ business, oid, playedAt }) => ({ business, oid, playedAt }))),
    async removeStaged(slot, folded) {
      for (const { viewer, plays } of folded) {
        const held = state.viewers.get(viewer)
        let removed = 0
        for (const { business, oid, playedAt } of plays) {
          const key = `${slot}:${business}:${oid}`
          if (held?.staged.get(key)?.playedAt !== playedAt) continue
          held.staged.delete(key)
          removed += 1
        }
        if (held !== undefined && removed > 0) held.folds += 1
        if (stagedIn(viewer, slot).length > 0) continue
        for (const { shards } of [shape, ...state.layouts]) ringOf(slot, shardOf(viewer, regions, shards)).delete(viewer)
      }
    },
    async countRing() {
      const counts = Array.from({ length: Math.max(...[shape, ...state.layouts].map(({ slots }) => slots)) }, () => 0)
      for (const [key, ring] of state.ring) counts[Number(key.split(':')[0])]! += ring.size
      return counts
    },
    getRingLayouts: async () => inOrderOfUse(state.layouts),
    async putRingLayout({ slots, shards, since }) {
      if (!state.layouts.some((layout) => layout.since === since)) state.layouts.push({ slots, shards, since })
    },
    listPendingRewards: async (asked, claimedBefore, limit) =>
      [...state.rewards.values()]
        .filter(({ event, claimedAt }) => asked.includes(regionOf(event.viewer, regions)) && claimedAt <= claimedBefore)
        .slice(0, limit)
        .map(({ event }) => event),
    async confirmRewards(rewards) {
      for (const { id } of rewards) state.rewards.delete(id)
    },
    check: async () => {},
    close: async () => {},
  }
}

function putIssued(
  state: SeenState,
  viewer: ViewerId,
  business: BusinessNumber,
  oids: readonly string[],
  { now, cap, minAgeMs, hardCap, ttlMs, day, dayForAll }: IssuedOptions,
): boolean {
  if (oids.length === 0) return false
  const before = state.issued.get(`${business}:${viewer}`)
  const held = before === undefined || servedAt(before) < now - ttlMs ? new Map<string, number>() : before
  for (const [at, oid] of oids.entries()) held.set(oid, Math.max(momentOf(now, at, oids.length), held.get(oid) ?? 0))
  const entries = Array.from(held, ([oid, moment]) => ({ oid, moment })).sort(newestFirst)
  for (const [rank, { oid, moment }] of entries.entries()) {
    if (rank >= hardCap || (rank >= cap && issuedAtOf(moment) <= now - minAgeMs)) held.delete(oid)
  }
  state.issued.set(`${business}:${viewer}`, held)
  return day !== undefined && claim(state, rewardOf(viewer, claimedBusiness({ business, dayForAll }), day, 'FIRST_ISSUE'), now)
}

function getSeen(state: SeenState, viewer: ViewerId, business: number): HotSeen {
  const issued = [...(state.issued.get(`${business}:${viewer}`) ?? [])].map(([oid, moment]) => ({ oid, moment }))
  const latest = new Map<string, number>()
  for (const play of stagedOf(state, viewer)) {
    if (play.business === business) latest.set(play.oid, Math.max(play.playedAt, latest.get(play.oid) ?? 0))
  }
  return {
    issued: issued.sort(newestFirst).map(({ oid, moment }) => ({ oid, issuedAt: issuedAtOf(moment) })),
    staged: Array.from(latest, ([oid, playedAt]) => ({ oid, playedAt })),
    folds: state.viewers.get(viewer)?.folds ?? 0,
  }
}

function stagedOf(state: SeenState, viewer: ViewerId): Staged[] {
  return [...(state.viewers.get(viewer)?.staged.values() ?? [])]
}

/** False if the day was claimed before. */
function claim(state: SeenState, event: RewardEvent, now: number): boolean {
  if (state.days.has(event.id)) return false
  state.days.add(event.id)
  state.rewards.set(event.id, { event, claimedAt: now })
  return true
}

function servedAt(issued: ReadonlyMap<string, number>): number {
  return issuedAtOf(Math.max(...issued.values()))
}
