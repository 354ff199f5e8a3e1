/**
 * The traces of a viewer in the hot store of feed existence on Redis: served subjects, staged plays, places in the ring, pending rewards.
 * Day flags have no key of a viewer. Redis expires them: `DAY_FLAG_MAX_MS`.
 */
import type { BusinessNumber } from '../../../../core/domain.ts'
import type { Traces } from '../../../../core/erasure/traces.ts'
import { packedIdOf } from '../../../../core/keys.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { beginsWith, countKeys, findMembers, removeMembers, unlinkKeys } from '../../../../stores/redis/traces.ts'
import type { SeenStore } from '../hot-store.ts'
import { makeSeenLayout } from './keys.ts'

export type RedisTracesOptions = { prefix: string; regions: number }

/** `hot` takes viewers without staged plays from the ring. Without a number of folds, cached filters of earlier numbers are not used. */
export function openSeenTraces(
  connection: Connection,
  hot: Pick<SeenStore, 'removeStaged' | 'getRingLayouts'>,
  businesses: readonly BusinessNumber[],
  { prefix, regions }: RedisTracesOptions,
): Traces {
  const layout = makeSeenLayout(prefix, regions)

  function keysOf(viewer: string): string[] {
    const region = layout.regionOf(viewer)
    return [layout.staged(region, viewer), ...businesses.map((business) => layout.issued(region, viewer, business))]
  }

  const findRewards = (viewer: string): Promise<Buffer[]> =>
    findMembers(connection, 'zscan', layout.rewards(layout.regionOf(viewer)), beginsWith(packedIdOf(viewer)))

  return {
    async erase(viewer) {
      const removed = await unlinkKeys(connection, keysOf(viewer))
      const slots = Math.max(0, ...(await hot.getRingLayouts()).map((each) => each.slots))
      for (let slot = 0; slot < slots; slot++) await hot.removeStaged(slot, [{ viewer, plays: [] }])
      const rewards = await findRewards(viewer)
      return removed + (await removeMembers(connection, 'zrem', layout.rewards(layout.regionOf(viewer)), rewards))
    },
    async count(viewer) {
      let found = (await countKeys(connection, keysOf(viewer))) + (await findRewards(viewer)).length
      const shapes = await hot.getRingLayouts()
      const slots = Math.max(0, ...shapes.map((each) => each.slots))
      for (const shards of new Set(shapes.map((each) => each.shards))) {
        const places = Array.from({ length: slots }, (_, slot) => layout.ringOf(slot, viewer, shards))
        const members = await connection.send(places.map((place) => ({ name: 'sismember', args: [place, viewer] })))
        found += members.filter((isMember) => isMember === 1).length
      }
      return found
    },
  }
}

/** The sorted sets of a viewer in the legacy store. */
export function openLegacyTraces(connection: Connection, keysOf: (viewer: string) => readonly string[]): Traces {
  const each = async (viewer: string, ask: typeof countKeys): Promise<number> => {
    let found = 0
    for (const key of keysOf(viewer)) found += await ask(connection, [key])
    return found
  }
  return { erase: (viewer) => each(viewer, unlinkKeys), count: (viewer) => each(viewer, countKeys) }
}
