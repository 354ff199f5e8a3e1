/** Shapes of the time ring, as all stores of what was seen check and list them. */
import { TidemarkError } from '../../../core/errors.ts'
import { SLOTS_MAX } from './hot-store.ts'
import type { RingLayout, RingShape } from './hot-store.ts'

/** Throws CONFIG_INVALID for a ring whose shards cannot be owned region by region. */
export function checkRingShape({ slots, shards }: RingShape, regions: number): void {
  if (!Number.isInteger(slots) || slots < 2 || slots > SLOTS_MAX) {
    throw new TidemarkError('CONFIG_INVALID', `existence.slots ${slots} is not a number of slots: use 2 to ${SLOTS_MAX}`)
  }
  if (!Number.isInteger(shards) || shards < regions || shards % regions !== 0) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `existence.shards ${shards} is no multiple of stores.regions ${regions}, so that shards would not belong to regions: use ${Math.max(1, Math.ceil(shards / regions)) * regions}`,
    )
  }
}

/** In order of time; of equal shapes that follow each other, as processes that start together may write them, the earliest. */
export function inOrderOfUse(layouts: readonly RingLayout[]): RingLayout[] {
  const ordered: RingLayout[] = []
  for (const layout of layouts.toSorted((a, b) => a.since - b.since)) {
    const last = ordered.at(-1)
    if (last === undefined || last.slots !== layout.slots || last.shards !== layout.shards) ordered.push(layout)
  }
  return ordered
}
