/** The consumers of logs, whatever a log carries. */

/** What flows through a log of its own: keys of progress, keys of marks, plays (`play-log.ts`). */
export type Stream = 'history' | 'marks' | 'plays'

export type LogConsumer = {
  /**
   * The regions whose partitions this consumer owns now; changes with rebalances. While the log does not answer, those
   * that it owned last, or all if it never owned any: so others may own them too, and whoever asks must not mind.
   */
  ownedRegions(): readonly number[]
  /** Finishes the batch under way, commits, leaves. */
  stop(): Promise<void>
}
