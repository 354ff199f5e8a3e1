/**
 * Takes over rows and settings of the record store. A script has at most 200 rows of one region, or the settings of one viewer. A repetition
 * changes nothing.
 */
import type { ProgressRow } from '../../../../core/domain.ts'
import { settingsKey } from '../../../../core/progress-key.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { groupByRegion, type Grouped, type RegionBatch } from '../../../../stores/redis/grouping.ts'
import { lengthBefore, packGroup } from '../../../../stores/redis/packing.ts'
import type { PutOptions } from '../hot-store.ts'
import type { SettingsRow } from '../record-store.ts'
import { packMember, type Layout } from './keys.ts'
import { SCRIPTS } from './scripts.ts'
import { recordBytesMax, writeRecord } from './values.ts'

/** A script then blocks its server for about a millisecond at most. */
const ROWS_PER_SCRIPT = 200

export function makeFilling(connection: Connection, layout: Layout, expireMs: number) {
  function progressCommand({ region, groups, items }: RegionBatch<ProgressRow>, { now, timelineCap }: PutOptions): Command {
    const keys = [layout.version(region), layout.dirty(region), layout.tombstones(region)]
    const args: Argument[] = [now, timelineCap, expireMs, packRows(items)]
    for (const { viewer, business } of groups) {
      keys.push(layout.contents(region, viewer, business), layout.timeline(region, viewer, business), layout.settings(region, viewer))
      args.push(packGroup(viewer, business))
    }
    return scriptCommand(SCRIPTS.fillProgress, keys, args)
  }

  function settingsCommand({ viewer, settings }: SettingsRow, now: number): Command {
    const region = layout.regionOf(viewer)
    const keys = [layout.version(region), layout.dirty(region), layout.settings(region, viewer)]
    const args: Argument[] = [now, expireMs, packMember(settingsKey(viewer)), settings.paused ? 1 : 0, settings.version]
    for (const [name, clearedAt] of Object.entries(settings.clearedAt)) {
      const business = Number(name)
      keys.push(layout.contents(region, viewer, business), layout.timeline(region, viewer, business))
      args.push(packGroup(viewer, business), clearedAt)
    }
    return scriptCommand(SCRIPTS.fillSettings, keys, args)
  }

  return {
    async fillProgress(rows: readonly ProgressRow[], options: PutOptions): Promise<void> {
      const batches = groupByRegion(rows, ({ key }) => key, layout.regionOf, ROWS_PER_SCRIPT)
      await connection.send(batches.map((batch) => progressCommand(batch, options)))
    },

    async fillSettings(rows: readonly SettingsRow[], now: number): Promise<void> {
      await connection.send(rows.map((row) => settingsCommand(row, now)))
    },
  }
}

/** In the format of `fill-progress.lua`. */
function packRows(items: readonly Grouped<ProgressRow>[]): Buffer {
  const bytes = items.reduce((sum, { item }) => sum + 2 + 1 + PACKED_ID_BYTES_MAX + 1 + recordBytesMax(item.record.device), 0)
  const target = Buffer.allocUnsafe(bytes)
  let end = 0
  for (const { item, place } of items) {
    end = target.writeUInt16BE(place, end)
    end = lengthBefore(target, end, (at) => packId(item.key.oid, target, at))
    end = lengthBefore(target, end, (at) => writeRecord(item.record, target, at))
  }
  return target.subarray(0, end)
}
