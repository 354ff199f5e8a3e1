/** Reports the moment up to which a consumer has read and persisted all appended messages. */
import type { Consumer, EachBatchPayload } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'

/** Limit for all partitions together: kafkajs fetches up to 10 MiB, headers included. */
const FETCH_ROOM_BYTES = 5 * 1_048_576

type Batch = EachBatchPayload['batch']
export type CatchUp = ReturnType<typeof makeCatchUp>

export function makeCatchUp(clock: Clock) {
  /** The time of the last batch that was not complete. */
  let behindAt = 0

  return {
    noteBatch(batch: Batch, partitionsOwned: number): void {
      if (isBehind(batch, partitionsOwned)) behindAt = clock.now()
    },

    /**
     * If the batches of a fetch reach the ends of their partitions, or it brought none, all earlier messages of its broker have arrived.
     * kafkajs does not report that. It is concluded when the next fetch begins, since that waits until the batches are done.
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

/** True if the partition has more messages, or the fetch may have had no room for another partition. */
function isBehind(batch: Batch, partitionsOwned: number): boolean {
  if (BigInt(batch.lastOffset()) + 1n < BigInt(batch.highWatermark)) return true
  const bytes = batch.messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
  return bytes > FETCH_ROOM_BYTES / Math.max(1, partitionsOwned)
}
