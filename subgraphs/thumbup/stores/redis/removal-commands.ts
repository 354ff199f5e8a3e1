/** Commands that remove marks. The jobs send them, and so does the erasure of a viewer. */
import type { BusinessNumber, MarkKey, ViewerId } from '../../../../core/domain.ts'
import { scriptCommand, type Argument, type Command } from '../../../../stores/redis/connection.ts'
import type { RegionBatch } from '../../../../stores/redis/grouping.ts'
import { packGroup } from '../../../../stores/redis/packing.ts'
import type { MarkLayout } from './keys.ts'
import { viewerKeys } from './regions-command.ts'
import { SCRIPTS } from './scripts.ts'

/** Keys per script, so that no script blocks its server for more than about a millisecond. */
export const KEYS_PER_SCRIPT = 500

export function purgeCommand(layout: MarkLayout, { region, groups, items }: RegionBatch<MarkKey>, undoneBefore: number): Command {
  const keys = [layout.version(region), layout.undone(region)]
  for (const { viewer, business } of groups) keys.push(...viewerKeys(layout, region, viewer, business))
  const args = items.flatMap(({ item, place }): Argument[] => [place, packGroup(item.viewer, item.business), item.oid])
  return scriptCommand(SCRIPTS.purgeMarks, keys, [undoneBefore, ...args])
}

export function forgetCommand(layout: MarkLayout, viewer: ViewerId, business: BusinessNumber): Command {
  const region = layout.regionOf(viewer)
  const keys = [layout.dirty(region), layout.undone(region), ...viewerKeys(layout, region, viewer, business)]
  return scriptCommand(SCRIPTS.forgetMarks, keys, [packGroup(viewer, business)])
}
