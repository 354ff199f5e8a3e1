/** Reports the moment up to which a consumer has read and persisted all that was appended. */
import type { Consumer, EachBatchPayload } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'

/** Of all partitions together: what kafkajs asks for is 10 MiB, headers included. */
const FETCH_ROOM_BYTES = 5 * 1_048_576

type Batch = EachBatchPayload['batch']
export type CatchUp = ReturnType<typeof makeCatchUp>

export function makeCatchUp(clock: Clock) {
  /** When a batch was taken that was not all there was. */
  let behindAt = 0

  return {
    noteBatch(batch: Batch, partitionsOwned: number): void {
      if (isBehind(batch, partitionsOwned)) behindAt = clock.now()
    },

    /**
     * A fetch whose batches reach the ends of their partitions, or that brought none, says that all its broker had before is here.
     * kafkajs does not tell, so it is concluded when the next one begins, for which it waits until the batches are done.
     */
    follow(consumer: Consumer, isIdle: () => boolean, caughtUp: (until: number) => void): void {
      const begun = new Map<string, number>()
      const quiet = new Map<string, number>()
      consumer.on(consumer.events.FETCH_START, ({ payload }) => {
        const node = String(payload.nodeId)
        const before = begun.get(node)
        if (before !== undefined && isIdle() && behindAt < before) quiet.set(node, before)
        begun.set(node, clock.now())
        if (quiet.size === begun.size) caughtUp(Math.min(...quiet.values()))
      })
      consumer.on(consumer.events.GROUP_JOIN, () => {
        begun.clear()
        quiet.clear()
      })
    },
  }
}

/** Is there more in its partition, or could there be no room left for another partition in the fetch? */
function isBehind(batch: Batch, partitionsOwned: number): boolean {
  if (BigInt(batch.lastOffset()) + 1n < BigInt(batch.highWatermark)) return true
  const bytes = batch.messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
  return bytes > FETCH_ROOM_BYTES / Math.max(1, partitionsOwned)
}
