/**
 * Port: the log of plays, from whoever reports them (the players' heartbeats, other services): at least once, in any order. The
 * job stages what comes. A member of the consuming group owns the regions of its partitions, and with them their shards of the
 * ring.
 *
 * Every adapter passes `test/contracts/feed-existence/play-log.ts`. Failures surface as `LOG_UNAVAILABLE` (retryable).
 */
import type { Play } from '../../../core/domain.ts'
import type { LogConsumer } from '../../../core/log-consumer.ts'

export type PlayHooks = {
  /** Stage these plays. When it resolves they are committed; when it rejects, the same come again, later. */
  stage(plays: readonly Play[]): Promise<void>
  /** A message that holds no plays, or those of it that no store can hold, was set aside with this reason. The rest goes on. */
  parked?(reason: string, where?: Record<string, string | number>): void
}

/** Where the log ended at some moment: of each partition, the place after its last message. */
export type LogEnd = readonly number[]

export interface PlayLog {
  /** Durable when it resolves. */
  appendPlays(plays: readonly Play[]): Promise<void>
  consumePlays(hooks: PlayHooks): Promise<LogConsumer>
  /** Messages appended and not yet staged. */
  lag(): Promise<number>
  /** Whatever was appended before the call is before this end. */
  end(): Promise<LogEnd>
  /** Has all before this end been staged, or set aside? */
  isStaged(end: LogEnd): Promise<boolean>
  check(): Promise<void>
  close(): Promise<void>
}
