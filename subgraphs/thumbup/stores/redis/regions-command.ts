/**
 * A script that changes marks of viewers in one or several regions. Its keys are those of the regions, then those of the viewers. Its
 * arguments are the options, the number of regions, the packed items, then the packed viewers. `put-marks.lua` and `clear-marks.lua` read
 * them.
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Argument, type Command } from '../../../../stores/redis/connection.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import { packGroup } from '../../../../stores/redis/packing.ts'
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
  const packed = Buffer.allocUnsafe(count * (2 + 2 + bytesMax))
  const keys = batches.flatMap(({ region }) => [layout.version(region), layout.dirty(region), layout.undone(region)])
  const viewers: Buffer[] = []
  let end = 0
  for (const [at, { region, groups, items }] of batches.entries()) {
    for (const { item, place } of items) {
      end = write(item, packed, packed.writeUInt16BE(viewers.length + place, packed.writeUInt16BE(at, end)))
    }
    for (const { viewer, business } of groups) {
      keys.push(...viewerKeys(layout, region, viewer, business))
      viewers.push(packGroup(viewer, business))
    }
  }
  return scriptCommand(script, keys, [...options, batches.length, packed.subarray(0, end), ...viewers])
}
