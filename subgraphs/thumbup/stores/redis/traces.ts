/** The traces of a viewer in the hot store of marks and in the count cache on Redis. */
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Argument, type Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import { packGroup } from '../../../../stores/redis/packing.ts'
import { countKeys, unlinkKeys } from '../../../../stores/redis/traces.ts'
import type { MarkCacheTraces, MarkHotTraces } from '../traces.ts'
import { makeMarkLayout } from './keys.ts'
import { viewerKeys } from './regions-command.ts'
import { SCRIPTS } from './scripts.ts'

export type RedisTracesOptions = { prefix: string; regions: number }

const KEYS_PER_SCRIPT = 500

export function openMarkHotTraces(connection: Connection, { prefix, regions }: RedisTracesOptions): MarkHotTraces {
  const layout = makeMarkLayout(prefix, regions)

  return {
    async forget(viewer: ViewerId, business: BusinessNumber) {
      const region = layout.regionOf(viewer)
      const keys = [layout.dirty(region), layout.undone(region), ...viewerKeys(layout, region, viewer, business)]
      const [removed] = await connection.send([scriptCommand(SCRIPTS.forgetMarks, keys, [packGroup(viewer, business)])])
      return Number(removed)
    },
    count: (viewer, business) => countKeys(connection, viewerKeys(layout, layout.regionOf(viewer), viewer, business)),
    async dropUndone(keys: readonly MarkKey[], undoneBefore: number) {
      const batches = groupByRegion(keys, (key) => key, layout.regionOf, KEYS_PER_SCRIPT)
      const commands = batches.map(({ region, groups, items }) => {
        const places = [layout.version(region), layout.undone(region)]
        for (const { viewer, business } of groups) places.push(...viewerKeys(layout, region, viewer, business))
        const args = items.flatMap(({ item, place }): Argument[] => [place, packGroup(item.viewer, item.business), item.oid])
        return scriptCommand(SCRIPTS.purgeMarks, places, [undoneBefore, ...args])
      })
      await connection.send(commands)
    },
  }
}

export function openMarkCacheTraces(connection: Connection, { prefix, regions }: RedisTracesOptions): MarkCacheTraces {
  const layout = makeMarkLayout(prefix, regions)
  const likersOf = (region: number, subject: Subject) => [layout.likers(region, subject), layout.likersVersion(region, subject)]
  const allOf = (region: number, subject: Subject) => [
    layout.count(region, subject),
    layout.countVersion(region, subject),
    ...likersOf(region, subject),
  ]
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
