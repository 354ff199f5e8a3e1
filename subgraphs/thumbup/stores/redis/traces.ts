/** The traces of a viewer in the hot store of marks and in the count cache on Redis. */
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../../core/domain.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import { countKeys, unlinkKeys } from '../../../../stores/redis/traces.ts'
import type { MarkCacheTraces, MarkHotTraces } from '../traces.ts'
import { makeMarkLayout } from './keys.ts'
import { viewerKeys } from './regions-command.ts'
import { KEYS_PER_SCRIPT, forgetCommand, purgeCommand } from './removal-commands.ts'

export type RedisTracesOptions = { prefix: string; regions: number }

export function openMarkHotTraces(connection: Connection, { prefix, regions }: RedisTracesOptions): MarkHotTraces {
  const layout = makeMarkLayout(prefix, regions)

  return {
    async forget(viewer: ViewerId, business: BusinessNumber) {
      const [removed] = await connection.send([forgetCommand(layout, viewer, business)])
      return Number(removed)
    },
    count: (viewer, business) => countKeys(connection, viewerKeys(layout, layout.regionOf(viewer), viewer, business)),
    async dropUndone(keys: readonly MarkKey[], undoneBefore: number) {
      const batches = groupByRegion(keys, (key) => key, layout.regionOf, KEYS_PER_SCRIPT)
      await connection.send(batches.map((batch) => purgeCommand(layout, batch, undoneBefore)))
    },
  }
}

export function openMarkCacheTraces(connection: Connection, { prefix, regions }: RedisTracesOptions): MarkCacheTraces {
  const layout = makeMarkLayout(prefix, regions)
  const likersOf = (region: number, subject: Subject) => [layout.likers(region, subject), layout.likersVersion(region, subject)]
  const allOf = (region: number, subject: Subject) => [...layout.keysOfCounts(region, subject), ...likersOf(region, subject)]
  const ownerKey = (business: BusinessNumber, owner: ViewerId) => layout.owner(layout.regionOf(owner), business, owner)

  return {
    async forgetLikers(subjects) {
      await connection.send(subjects.map((subject) => ({ name: 'unlink', args: likersOf(layout.regionOfSubject(subject), subject) })))
    },
    forgetOwner: (business, owner) => unlinkKeys(connection, [ownerKey(business, owner)]),
    forgetSubject: (subject) => unlinkKeys(connection, allOf(layout.regionOfSubject(subject), subject)),
    count: (viewer, business) => countKeys(connection, [ownerKey(business, viewer)]),
  }
}
