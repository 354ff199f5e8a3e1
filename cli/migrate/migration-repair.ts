/**
 * Stages missing plays again, in portions. It announces the shape of the ring first, as every writer does: this command may run with
 * settings that no service has yet, and workers read the announced shapes only.
 */
import type { Clock } from '../../core/clock.ts'
import type { Play } from '../../core/domain.ts'
import { slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { RingShape, SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { announceShape } from '../../subgraphs/feed-existence/fold/layouts.ts'

/** A portion is one step of the hot store, in one hour. */
const PORTION = 500

export function makeRepair(
  clock: Clock,
  hot: Pick<SeenStore, 'stagePlays' | 'getRingLayouts' | 'putRingLayout'>,
  shape: RingShape,
): (missing: readonly Play[]) => Promise<void> {
  let isAnnounced = false
  return async (missing) => {
    if (!isAnnounced) await announceShape(hot, shape, clock)
    isAnnounced = true
    for (let from = 0; from < missing.length; from += PORTION) {
      const now = clock.now()
      await hot.stagePlays(missing.slice(from, from + PORTION), { now, slot: slotOf(now, shape.slots) })
    }
  }
}
