/**
 * Port: the log between the service and the job. One message per region flush, in the region's partition; it has keys, never contents. At
 * least once, in order per partition.
 *
 * Every adapter passes `test/contracts/log.ts`. Failures surface as `LOG_UNAVAILABLE` (retryable).
 */
import type { FlushedKey, RewardEvent } from '../core/domain.ts'
import type { LogConsumer } from '../core/log-consumer.ts'

export type FlushMessage = {
  region: number
  /** Keys of this region, without repetitions. */
  keys: readonly FlushedKey[]
}

export type LogBatch = {
  partition: number
  messages: readonly FlushMessage[]
  /** The position of the partition after these messages: grows with every batch that is not a repetition. */
  nextOffset: number
}

export type ConsumerHooks = {
  /**
   * Persist these messages. When it resolves, their offsets are committed; when it rejects, the same messages come
   * again, later. Batches of one partition never overlap.
   */
  persist(batch: LogBatch): Promise<void>
  /** A message that cannot be decoded was parked: the reason, its place in the log, and its new place. The partition goes on. */
  parked?(reason: string, where?: Record<string, string | number>): void
}

/** A reward and its number in the log. Numbers grow with each append. An erasure of a viewer removes rewards, and leaves gaps. */
export type LoggedReward = { readonly number: number; readonly reward: RewardEvent }

export interface Log {
  /** Durable when it resolves. */
  appendFlushes(messages: readonly FlushMessage[]): Promise<void>
  /** Durable when it resolves. At least once: consumers drop repeated ids. */
  appendRewards(events: readonly RewardEvent[]): Promise<void>
  /**
   * The kept rewards after this number, at most `limit`, in order of appending. `last` is the number of the last reward that was ever
   * appended (0: none). All rewards up to `trimmed` were removed because the log keeps only the newest (0: none). Absent if consumers read
   * the rewards from the servers of the log.
   */
  readRewards?(after: number, limit: number): Promise<{ rewards: LoggedReward[]; last: number; trimmed: number }>
  /** Starts consuming flushes as a member of the persisting group. */
  consumeFlushes(hooks: ConsumerHooks): Promise<LogConsumer>
  /** Flush messages appended and not yet committed by the persisting group. */
  lag(): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
