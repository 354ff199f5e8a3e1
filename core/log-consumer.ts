/** The consumers of logs, independent of their content. */

/** The content of a log: keys of progress, keys of marks, plays (`play-log.ts`), keys of posts and filter words. */
export type Stream = 'history' | 'marks' | 'plays' | 'feed'

export type LogConsumer = {
  /**
   * The regions whose partitions this consumer owns now. They change with rebalances. While the log does not answer: the
   * regions owned last, or all if it never owned any. Other processes may own them too, so callers must tolerate an
   * overlap.
   */
  ownedRegions(): readonly number[]
  /** Finishes the current batch, commits, and leaves the group. */
  stop(): Promise<void>
}
