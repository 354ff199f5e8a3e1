/** Shapes of the time ring: how all stores of feed existence check and order them. */
import { TidemarkError } from '../../../core/errors.ts'
import { SLOTS_MAX } from './hot-store.ts'
import type { RingLayout, RingShape } from './hot-store.ts'

/** Throws CONFIG_INVALID for a ring whose shards do not map to regions. */
export function checkRingShape({ slots, shards }: RingShape, regions: number): void {
  if (!Number.isInteger(slots) || slots < 2 || slots > SLOTS_MAX) {
    throw new TidemarkError('CONFIG_INVALID', `existence.slots ${slots} is not a valid number of slots: use 2 to ${SLOTS_MAX}`)
  }
  if (!Number.isInteger(shards) || shards < regions || shards % regions !== 0) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `existence.shards ${shards} is not a multiple of stores.regions ${regions}: use ${Math.max(1, Math.ceil(shards / regions)) * regions}`,
    )
  }
}

/** In order of time. Of equal shapes in a row, which processes that start together may write, only the earliest stays. */
export function inOrderOfUse(layouts: readonly RingLayout[]): RingLayout[] {
  const ordered: RingLayout[] = []
  for (const layout of layouts.toSorted((a, b) => a.since - b.since)) {
    const last = ordered.at(-1)
    if (last === undefined || last.slots !== layout.slots || last.shards !== layout.shards) ordered.push(layout)
  }
  return ordered
}
