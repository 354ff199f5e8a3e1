/**
 * The shapes of the ring. Slots and shards are settings, and processes are restarted one by one: for a while, some write by an old shape
 * and some by a new one, and a worker may have either. A process that stages therefore announces its shape first (`announceShape`), and a
 * worker follows the announced shapes, not its own settings:
 *
 * - The current shape, and any shape used within the last lap or day, have their slots folded by their own hours, each as if it were the
 *   only one. A process that still writes by it is served as before.
 * - Older shapes are examined once when a worker starts, and once for each newly assigned region. Plays left in them are found, however
 *   long they have been there.
 *
 * Shapes with equal slot numbers share keys. That is harmless: a slot folded before its hour is over is an early fold.
 */
import type { RingLayout, RingShape, SeenStore } from '../stores/hot-store.ts'
import type { Clock } from '../../../core/clock.ts'
import { HOUR_MS } from '../model/time-ring.ts'

const DAY_HOURS = 24

/**
 * Writes the shape down unless it is the current one at the time of the store's answer. The store may have been down for long, and others
 * write by the old shape until then.
 */
export async function announceShape(
  hot: Pick<SeenStore, 'getRingLayouts' | 'putRingLayout'>,
  { slots, shards }: RingShape,
  clock: Pick<Clock, 'now'>,
): Promise<void> {
  const isOurs = (layout: RingLayout | undefined): boolean => layout?.slots === slots && layout.shards === shards
  let layouts = await hot.getRingLayouts()
  for (let earliest = 0; !isOurs(layouts.at(-1));) {
    // Never before the previous layout, whatever this server's clock says.
    const since = Math.max(clock.now(), earliest, (layouts.at(-1)?.since ?? 0) + 1)
    earliest = since + 1
    await hot.putRingLayout({ slots, shards, since })
    layouts = await hot.getRingLayouts()
    // If two processes choose the same moment, the first one's layout stays, and this one follows it.
    if (isOurs(layouts.findLast((layout) => layout.since <= since))) return
  }
}

/** Distinct shapes: those that a process may still write by, and those that may only have leftovers. */
export function shapesOf(layouts: readonly RingLayout[], own: RingShape, now: number): { live: RingShape[]; old: RingShape[] } {
  const live = new Map([[textOf(own), own]])
  layouts.forEach(({ slots, shards }, place) => {
    const until = layouts[place + 1]?.since ?? Infinity
    if (until + Math.max(slots, DAY_HOURS) * HOUR_MS >= now) live.set(textOf({ slots, shards }), { slots, shards })
  })
  const old = new Map(layouts.map(({ slots, shards }) => [textOf({ slots, shards }), { slots, shards }]))
  for (const text of live.keys()) old.delete(text)
  return { live: [...live.values()], old: [...old.values()] }
}

function textOf({ slots, shards }: RingShape): string {
  return `${slots}x${shards}`
}
