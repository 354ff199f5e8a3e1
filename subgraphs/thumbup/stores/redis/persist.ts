/**
 * The job's side of the store: lists, clears and drops dirty marks, purges tombstones, and forgets deleted businesses. Each call may be
 * repeated, since it refers to versions or times.
 */
import type { BusinessNumber, DirtyWalk, MarkKey } from '../../../../core/domain.ts'
import { ID_BYTES_MAX } from '../../../../core/keys.ts'
import { type PersistedMark, COUNTED_MAX } from '../hot-store.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion, scriptsOf } from '../../../../stores/redis/grouping.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import { packMarkMember, unpackMarkMember } from './keys.ts'
import type { MarkLayout } from './keys.ts'
import { RECORD_BYTES, writeMark } from './values.ts'
import { ITEMS_PER_SCRIPT, regionsCommand, viewerKeys } from './regions-command.ts'
import { KEYS_PER_SCRIPT, forgetCommand, purgeCommand } from './removal-commands.ts'
import { countMembers, listMembers, walkMembers, type SetPlaces } from '../../../../stores/redis/region-sets.ts'
import { SCRIPTS } from './scripts.ts'
import { countNames, makeWalk } from '../../../../stores/redis/walking.ts'
import { lengthBefore, writeVersion } from '../../../../stores/redis/packing.ts'

const PERSISTED_BYTES_MAX = 7 + RECORD_BYTES + 1 + ID_BYTES_MAX

export function makeMarkPersisting(connection: Connection, layout: MarkLayout) {
  let forgetting: { business: BusinessNumber; walk: ReturnType<typeof makeWalk> } | undefined

  const clearCommand = (batches: readonly RegionBatch<PersistedMark>[], cap: number): Command =>
    regionsCommand(SCRIPTS.clearMarks, layout, batches, [cap], PERSISTED_BYTES_MAX, writePersisted)

  function dropCommand({ region, groups, items }: RegionBatch<MarkKey>): Command {
    const keys = [layout.dirty(region), ...groups.flatMap(({ viewer, business }) => viewerKeys(layout, region, viewer, business))]
    const args = items.flatMap(({ item, place }): Argument[] => [place, item.oid, packMarkMember(item)])
    return scriptCommand(SCRIPTS.dropMarks, keys, args)
  }

  return {
    async clearDirtyMarks(persisted: readonly PersistedMark[], cap: number): Promise<void> {
      const batches = groupByRegion(persisted, ({ key }) => key, layout.regionOf, KEYS_PER_SCRIPT)
      const scripts = scriptsOf(batches, connection.isCluster, ITEMS_PER_SCRIPT)
      await connection.send(scripts.map((some) => clearCommand(some, cap)))
    },

    async dropDirtyMarks(keys: readonly MarkKey[]): Promise<void> {
      await connection.send(groupByRegion(keys, (key) => key, layout.regionOf, KEYS_PER_SCRIPT).map(dropCommand))
    },

    async listDirtyMarks(regions: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): Promise<MarkKey[]> {
      const places = (walk.place as SetPlaces | undefined) ?? new Map(regions.map((region) => [region, undefined]))
      const found = await walkMembers(connection, layout.dirty, places, dirtyBefore, limit)
      walk.place = found.places
      return found.members.map(unpackMarkMember)
    },

    countDirtyMarks: (): Promise<number> => countMembers(connection, layout.dirty, layout.regions),

    async purgeUndone(regions: readonly number[], undoneBefore: number, limit: number): Promise<number> {
      let gone = 0
      for (;;) {
        const asked = Math.min(KEYS_PER_SCRIPT, limit - gone)
        const members = await listMembers(connection, layout.undone, regions, undoneBefore, asked)
        const batches = groupByRegion(members.map(unpackMarkMember), (key) => key, layout.regionOf)
        const went = (await connection.send(batches.map((batch) => purgeCommand(layout, batch, undoneBefore)))) as number[]
        gone += went.reduce((sum, count) => sum + count, 0)
        if (members.length < asked || gone >= limit) return gone
      }
    },

    async forgetBusiness(business: BusinessNumber, limit: number): Promise<number> {
      if (forgetting?.business !== business) forgetting = { business, walk: makeWalk(connection) }
      let keysGone = 0
      await forgetting.walk(layout.viewersPattern(business), limit, async (keys, room) => {
        const found = keys.flatMap((key) => layout.viewerOf(key) ?? []).filter((found) => found.business === business)
        const viewers = [...new Set(found.map(({ viewer }) => viewer))].slice(0, room)
        const went = (await connection.send(viewers.map((viewer) => forgetCommand(layout, viewer, business)))) as number[]
        keysGone += went.reduce((sum, count) => sum + count, 0)
        return viewers.length
      })
      return keysGone
    },

    countViewers: (business: BusinessNumber): Promise<number> =>
      countNames(connection, layout.viewersPattern(business), COUNTED_MAX, (key) => {
        const found = layout.viewerOf(key)
        return found?.business === business ? found.viewer : undefined
      }),
  }
}

/** In the format of `clear-marks.lua`. */
function writePersisted({ version, record, key }: PersistedMark, target: Buffer, offset: number): number {
  const end = writeMark(record, target, writeVersion(version, target, offset))
  return lengthBefore(target, end, (at) => at + target.write(key.oid, at))
}
