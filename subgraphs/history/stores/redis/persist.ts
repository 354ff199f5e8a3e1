/** The job's part: dirty marks are listed, cleared and dropped, and rewards are passed to the log. */
import type { DirtyWalk, ProgressKey } from '../../../../core/domain.ts'
import { SETTINGS_BUSINESS } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import { packMember, packOid, unpackMember } from './keys.ts'
import type { Layout } from './keys.ts'
import { countMembers, walkMembers, type SetPlaces } from '../../../../stores/redis/region-sets.ts'
import { makePendingRewards } from '../../../../writeback/stores/redis/pending-rewards.ts'
import { SCRIPTS } from './scripts.ts'
import { lengthBefore, writeVersion, packGroup } from '../../../../stores/redis/packing.ts'

type CleanKey = { key: ProgressKey; version: number }

/** Keys per script, so that it blocks its server for about a millisecond at most. */
const KEYS_PER_SCRIPT = 500

export function makePersisting(connection: Connection, layout: Layout) {
  function clearCommand({ region, groups, items }: RegionBatch<CleanKey>, timelineCap: number): Command {
    const packed = Buffer.allocUnsafe(items.length * (2 + 7 + 1 + PACKED_ID_BYTES_MAX))
    let end = 0
    for (const { item, place } of items) {
      end = writeVersion(item.version, packed, packed.writeUInt16BE(place, end))
      end = lengthBefore(packed, end, (at) => packId(item.key.oid, packed, at))
    }
    const keys = [layout.dirty(region), layout.version(region)]
    const args: Argument[] = [timelineCap, packed.subarray(0, end)]
    for (const { viewer, business } of groups) {
      if (business === SETTINGS_BUSINESS) keys.push(layout.settings(region, viewer), layout.settings(region, viewer))
      else keys.push(layout.contents(region, viewer, business), layout.timeline(region, viewer, business))
      args.push(packGroup(viewer, business))
    }
    return scriptCommand(SCRIPTS.clearDirty, keys, args)
  }

  function dropCommand({ region, items }: RegionBatch<ProgressKey>): Command {
    const keys = [layout.dirty(region)]
    const args: Argument[] = []
    for (const { item } of items) {
      const isSettings = item.business === SETTINGS_BUSINESS
      keys.push(isSettings ? layout.settings(region, item.viewer) : layout.contents(region, item.viewer, item.business))
      args.push(isSettings ? 'version' : packOid(item.oid), packMember(item))
    }
    return scriptCommand(SCRIPTS.dropDirty, keys, args)
  }

  return {
    async clearDirty(keys: readonly CleanKey[], timelineCap: number): Promise<void> {
      const batches = groupByRegion(keys, ({ key }) => key, layout.regionOf, KEYS_PER_SCRIPT)
      await connection.send(batches.map((batch) => clearCommand(batch, timelineCap)))
    },

    async dropDirty(keys: readonly ProgressKey[]): Promise<void> {
      const batches = groupByRegion(keys, (key) => key, layout.regionOf, KEYS_PER_SCRIPT)
      await connection.send(batches.map(dropCommand))
    },

    async listDirty(regions: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): Promise<ProgressKey[]> {
      const places = (walk.place as SetPlaces | undefined) ?? new Map(regions.map((region) => [region, undefined]))
      const found = await walkMembers(connection, layout.dirty, places, dirtyBefore, limit)
      walk.place = found.places
      return found.members.map(unpackMember)
    },

    async countDirty(): Promise<number> {
      return countMembers(connection, layout.dirty, layout.regions)
    },

    ...makePendingRewards(connection, layout.rewards, layout.regionOf),
  }
}
