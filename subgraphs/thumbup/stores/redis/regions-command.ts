/**
 * A script that changes marks of viewers in one or several regions. Its keys are those of the regions, then those of the viewers. Its
 * arguments are the options, the number of regions and the packed items. `put-marks.lua` and `clear-marks.lua` read them.
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Argument, type Command } from '../../../../stores/redis/connection.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import { GROUP_BYTES_MAX, lengthBefore, writeGroup } from '../../../../stores/redis/packing.ts'
import type { Script } from '../../../../stores/redis/scripts.ts'
import type { MarkLayout } from './keys.ts'

/** So that a script of several regions blocks its server for about a millisecond. */
export const ITEMS_PER_SCRIPT = 50

/** In the format of the scripts. */
export function viewerKeys(layout: MarkLayout, region: number, viewer: ViewerId, business: BusinessNumber): string[] {
  return [layout.marks(region, viewer, business), layout.likes(region, viewer, business), layout.dislikes(region, viewer, business)]
}

/** `write` puts an item at an offset, in at most `bytesMax` bytes, and returns its end. */
export function regionsCommand<T>(
  script: Script,
  layout: MarkLayout,
  batches: readonly RegionBatch<T>[],
  options: readonly Argument[],
  bytesMax: number,
  write: (item: T, target: Buffer, offset: number) => number,
): Command {
  const count = batches.reduce((sum, { items }) => sum + items.length, 0)
  const packed = Buffer.allocUnsafe(count * (2 + 2 + 1 + GROUP_BYTES_MAX + bytesMax))
  const keys = batches.flatMap(({ region }) => [layout.version(region), layout.dirty(region), layout.undone(region)])
  let [end, viewers] = [0, 0]
  for (const [at, { region, groups, items }] of batches.entries()) {
    let opened = 0
    for (const { item, place } of items) {
      end = packed.writeUInt16BE(viewers + place, packed.writeUInt16BE(at, end))
      // Groups are in the order of their first items.
      const group = place === opened ? groups[opened++] : undefined
      end = lengthBefore(packed, end, (from) => (group === undefined ? from : writeGroup(group.viewer, group.business, packed, from)))
      end = write(item, packed, end)
    }
    for (const { viewer, business } of groups) keys.push(...viewerKeys(layout, region, viewer, business))
    viewers += groups.length
  }
  return scriptCommand(script, keys, [...options, batches.length, packed.subarray(0, end)])
}
