/**
 * Port: the change feed of counts, for whoever keeps copies of them: what the tables `counts` and `owners` became, at least
 * once, in order per subject and per owner. A change carries whole values and their version, never differences.
 *
 * Adapters: MySQL's and MariaDB's binary log (`mysql/binlog-feed.ts`), TiCDC's topic (`kafka/canal-feed.ts`), and the
 * service's own events in the same shape (`subgraphs/thumbup/change-feed/event-feed.ts`). `subgraphs/thumbup/change-feed/feed-switch.ts` puts one in another's place.
 *
 * Rows that go are not told: they go with their business only, and `CountCache.forgetCounts` is for that.
 */
import type { OwnerSum, CountedSubject } from '../../../core/domain.ts'

export type CountChanges = { counts: readonly CountedSubject[]; owners: readonly OwnerSum[] }

export type RunningFeed = {
  /** The moment (ms, our clock) up to which everything committed has come and `onChanges` has resolved for it. 0: not known yet. */
  readUntil(): number
  /** Resolves, with the reason, when the feed cannot go on by itself: until then it reconnects for as long as it takes. */
  ended: Promise<unknown>
  /** Waits for the call under way. Whoever starts again goes on from there. Also after the end; idempotent. */
  stop(): Promise<void>
}

/** Writes a feed's beat into the table `heartbeats`. */
export type WriteBeat = (feed: string, instance: string, beatAt: number) => Promise<void>

export interface CountFeed {
  /**
   * Goes on where a feed of the same name stopped, in whatever process; the first begins with what is committed from now on.
   * Calls of `onChanges` never overlap; when it rejects, the same changes come again. `onGap` tells, with a sentence, that
   * changes were missed that will not come any more: copies are to be loaded anew. Rejects with CONFIG_INVALID or
   * DATA_INCOMPATIBLE and what to do if it can never work so, with RECORD_STORE_UNAVAILABLE or LOG_UNAVAILABLE otherwise.
   */
  start(onChanges: (changes: CountChanges) => Promise<void>, onGap?: (sentence: string) => void): Promise<RunningFeed>
}

/** How many counts and owners' sums these changes have. */
export function sizeOf({ counts, owners }: CountChanges): number {
  return counts.length + owners.length
}
