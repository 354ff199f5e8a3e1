/**
 * Port: the change feed of counts, for holders of copies. It delivers the changes of the tables `counts` and `owners` at least once, in
 * order per subject and per owner. A change carries whole values and their version, never differences.
 *
 * Adapters: the binary log of MySQL and MariaDB (`mysql/binlog-feed.ts`), TiCDC's topic (`kafka/canal-feed.ts`), and the service's own
 * events in the same shape (`event-feed.ts`). `feed-switch.ts` replaces one by another.
 *
 * Deleted rows are not delivered. Rows are deleted only with their business, and `CountCache.forgetCounts` handles that.
 */
import type { OwnerSum, CountedSubject } from '../../../core/domain.ts'

export type CountChanges = { counts: readonly CountedSubject[]; owners: readonly OwnerSum[] }

export type RunningFeed = {
  /** The time (ms, our clock) up to which every committed change has come and `onChanges` has resolved. 0: not known yet. */
  readUntil(): number
  /** Resolves with the reason when the feed cannot continue. Before that it reconnects without limit. */
  ended: Promise<unknown>
  /** Waits for the call under way. A feed that is started later continues from there. Idempotent, also after the end. */
  stop(): Promise<void>
}

/** Writes a feed's beat into the table `heartbeats`. */
export type WriteBeat = (feed: string, instance: string, beatAt: number) => Promise<void>

export interface CountFeed {
  /**
   * Continues where a feed of the same name stopped, in any process. The first feed of a name begins with the next commit. Calls of
   * `onChanges` never overlap. If a call rejects, the same changes come again. `onGap` reports changes that were missed for good: copies
   * must be loaded again.
   *
   * Rejects with CONFIG_INVALID or DATA_INCOMPATIBLE and a remedy if the feed can never work as configured. Otherwise it rejects with
   * RECORD_STORE_UNAVAILABLE or LOG_UNAVAILABLE.
   */
  start(onChanges: (changes: CountChanges) => Promise<void>, onGap?: (sentence: string) => void): Promise<RunningFeed>
}

/** The number of counts and owners' sums in these changes. */
export function sizeOf({ counts, owners }: CountChanges): number {
  return counts.length + owners.length
}
