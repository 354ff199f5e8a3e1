/**
 * The stores of feed existence in plain maps, as small and fast as possible, for a month of a million viewers. A real store would take
 * hours. They have only the methods that the job and the staging of plays call. Filters are latin-1 strings: small Buffers share slabs, and
 * one remaining Buffer keeps its whole slab.
 */
import type { ViewerId } from '../../core/domain.ts'
import { shardOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { FilterKey, SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { SeenStore, StagedPlay } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { REGIONS, SHAPE } from './servers.ts'

export type MemoryHot = Pick<SeenStore, 'stagePlays' | 'filledShards' | 'listRing' | 'readStaged' | 'removeStaged' | 'getRingLayouts'> & {
  /** The number of staged plays, and of viewers' places in the ring. */
  figures(): { staged: number; ring: number }
}

export function makeMemoryHot(): MemoryHot {
  const slots = Array.from({ length: SHAPE.slots }, () => ({
    ring: Array.from({ length: SHAPE.shards }, () => new Set<ViewerId>()),
    staged: new Map<ViewerId, Map<string, StagedPlay>>(),
  }))
  let staged = 0
  const slotAt = (slot: number) => slots[slot] as (typeof slots)[number]
  const shardAt = (slot: number, shard: number) => slotAt(slot).ring[shard] as Set<ViewerId>
  const keyOf = ({ business, oid }: StagedPlay): string => `${business}:${oid}`

  return {
    async stagePlays(plays, { slot }) {
      const counts = new Map<ViewerId, number>()
      for (const { viewer, ...play } of plays) {
        let own = slotAt(slot).staged.get(viewer)
        if (own === undefined) {
          slotAt(slot).staged.set(viewer, (own = new Map()))
          shardAt(slot, shardOf(viewer, REGIONS, SHAPE.shards)).add(viewer)
        }
        const held = own.get(keyOf(play))
        if (held === undefined) staged++
        if (held === undefined || held.playedAt < play.playedAt) own.set(keyOf(play), play)
        counts.set(viewer, own.size)
      }
      return Array.from(counts, ([viewer, count]) => ({ viewer, staged: count }))
    },
    filledShards: async (slot, shards) => shards.filter((shard) => shardAt(slot, shard).size > 0),
    listRing: async (slot, shard, limit) => [...shardAt(slot, shard)].slice(0, limit),
    readStaged: async (slot, viewers) => viewers.map((viewer) => [...(slotAt(slot).staged.get(viewer)?.values() ?? [])]),
    async removeStaged(slot, folded) {
      for (const { viewer, plays } of folded) {
        const own = slotAt(slot).staged.get(viewer)
        for (const play of plays) {
          if (own?.get(keyOf(play))?.playedAt === play.playedAt && own.delete(keyOf(play))) staged--
        }
        if (own !== undefined && own.size > 0) continue
        slotAt(slot).staged.delete(viewer)
        shardAt(slot, shardOf(viewer, REGIONS, SHAPE.shards)).delete(viewer)
      }
    },
    getRingLayouts: async () => [],
    figures: () => ({
      staged,
      ring: slots.reduce((sum, { ring }) => sum + ring.reduce((more, { size }) => more + size, 0), 0),
    }),
  }
}

type HeldFilter = { filter: string; version: number }

export type MemoryRecords = Pick<SeenRecords, 'getFilters' | 'putFilters' | 'quarantineFilter'> & {
  figures(): { filters: number; bytes: number }
}

export function makeMemoryRecords(): MemoryRecords {
  const months = new Map<number, Map<ViewerId, HeldFilter>>()
  function monthAt({ month }: FilterKey): Map<ViewerId, HeldFilter> {
    const found = months.get(month) ?? new Map<ViewerId, HeldFilter>()
    months.set(month, found)
    return found
  }
  return {
    getFilters: async (keys) =>
      keys.map((key) => {
        const held = monthAt(key).get(key.viewer)
        return held === undefined ? undefined : { filter: Buffer.from(held.filter, 'latin1'), version: held.version }
      }),
    putFilters: async (writes) =>
      writes.map((write) => {
        const { viewer, filter, expected } = write
        if ((monthAt(write).get(viewer)?.version ?? 0) !== expected) return false
        monthAt(write).set(viewer, { filter: filter.toString('latin1'), version: expected + 1 })
        return true
      }),
    quarantineFilter: () => Promise.reject(new Error('no filter of the benchmark is damaged')),
    figures() {
      let [filters, bytes] = [0, 0]
      for (const held of months.values()) {
        filters += held.size
        for (const { filter } of held.values()) bytes += filter.length
      }
      return { filters, bytes }
    },
  }
}
