/**
 * Port: the log of plays, from all reporters (the players' heartbeats, other services): at least once, in any order. The job stages them. A
 * member of the consuming group owns the regions of its partitions, and with them their shards of the ring.
 *
 * Every adapter passes `test/contracts/feed-existence/play-log.ts`. Failures surface as `LOG_UNAVAILABLE` (retryable).
 */
import type { Play } from '../../../core/domain.ts'
import type { LogConsumer } from '../../../core/log-consumer.ts'

export type PlayHooks = {
  /** Stages these plays. When it resolves they are committed; when it rejects, the same plays come again later. */
  stage(plays: readonly Play[]): Promise<void>
  /**
   * A message was quarantined for this reason: it has no plays, or has plays that no store can hold. The remaining plays of the message are
   * delivered.
   */
  parked?(reason: string, where?: Record<string, string | number>): void
}

/** The end of the log at some moment: the place after the last message of each partition. */
export type LogEnd = readonly number[]

export interface PlayLog {
  /** Durable when it resolves. */
  appendPlays(plays: readonly Play[]): Promise<void>
  consumePlays(hooks: PlayHooks): Promise<LogConsumer>
  /** Messages appended but not yet staged. */
  lag(): Promise<number>
  /** Every message appended before the call is before this end. */
  end(): Promise<LogEnd>
  /** True if all messages before this end have been staged or quarantined. */
  isStaged(end: LogEnd): Promise<boolean>
  check(): Promise<void>
  close(): Promise<void>
}
