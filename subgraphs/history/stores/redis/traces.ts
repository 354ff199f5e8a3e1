/**
 * The traces of a viewer in the hot store of history on Redis: contents, timelines, settings, the claimed day, marks,
 * tombstones and pending rewards.
 */
import type { BusinessNumber } from '../../../../core/domain.ts'
import type { Traces } from '../../../../core/erasure/traces.ts'
import { packedIdOf } from '../../../../core/keys.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { beginsWith, countKeys, findMembers, removeMembers, unlinkKeys } from '../../../../stores/redis/traces.ts'
import type { HotStore } from '../hot-store.ts'
import { makeLayout, unpackMember } from './keys.ts'

export type RedisTracesOptions = { prefix: string; regions: number }

/** `hot` drops dirty marks without content, and keeps those of new writes. */
export function openHistoryTraces(
  connection: Connection,
  hot: Pick<HotStore, 'dropDirty'>,
  businesses: readonly BusinessNumber[],
  { prefix, regions }: RedisTracesOptions,
): Traces {
  const layout = makeLayout(prefix, regions)

  function keysOf(viewer: string): string[] {
    const region = layout.regionOf(viewer)
    const ofBusinesses = businesses.flatMap((business) => [
      layout.contents(region, viewer, business),
      layout.timeline(region, viewer, business),
    ])
    return [layout.settings(region, viewer), layout.claimedDay(region, viewer), ...ofBusinesses]
  }

  const find = (set: (region: number) => string, viewer: string): Promise<Buffer[]> =>
    findMembers(connection, 'zscan', set(layout.regionOf(viewer)), beginsWith(packedIdOf(viewer)))

  return {
    async erase(viewer) {
      const region = layout.regionOf(viewer)
      const removed = await unlinkKeys(connection, keysOf(viewer))
      const dirty = await find(layout.dirty, viewer)
      if (dirty.length > 0) await hot.dropDirty(dirty.map(unpackMember))
      let members = 0
      for (const set of [layout.tombstones, layout.rewards])
        members += await removeMembers(connection, 'zrem', set(region), await find(set, viewer))
      return removed + dirty.length + members
    },
    async count(viewer) {
      let found = await countKeys(connection, keysOf(viewer))
      for (const set of [layout.dirty, layout.tombstones, layout.rewards]) found += (await find(set, viewer)).length
      return found
    },
  }
}
