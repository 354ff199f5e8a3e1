/**
 * Port: the outgoing events of marks, for whoever consumes them: every transition (`mark`) and every change of counts
 * (`count`). At least once; an event's id is stable under repetition. Documented for consumers in schema/records.proto.
 *
 * Every adapter passes `test/contracts/thumbup/events.ts`. Failures surface as `LOG_UNAVAILABLE` (retryable).
 */
import type { BusinessNumber, Mark, SubjectCounts, ViewerId } from '../../../core/domain.ts'

export type MarkEvent = {
  /** `{viewer length}:{viewer}{business}:{oid}@{version}` (`markEventId` in subgraphs/thumbup/model/events.ts). */
  id: string
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  old: Mark
  mark: Mark
  markedAt: number
  version: number
}

export type CountEvent = {
  /** `{business}:{oid}@{version}`. */
  id: string
  business: BusinessNumber
  oid: string
  counts: SubjectCounts
}

export type EventConsumer = {
  /** The moment (ms since the epoch, the log's or the process's clock) up to which everything appended has come; for freshness. */
  readUntil(): number
  stop(): Promise<void>
}

export interface MarkEvents {
  /** Durable when it resolves. Events of one key keep their order. */
  appendEvents(marks: readonly MarkEvent[], counts: readonly CountEvent[]): Promise<void>
  /**
   * Count events to this process, each at least once, in order per subject, from where `group` stopped (a new group: from now
   * on). When `onCounts` rejects the same come again.
   */
  consumeCounts(group: string, onCounts: (events: readonly CountEvent[]) => Promise<void>): Promise<EventConsumer>
  /** As `consumeCounts`, of transitions. */
  consumeMarks(group: string, onMarks: (events: readonly MarkEvent[]) => Promise<void>): Promise<EventConsumer>
  /**
   * Removes up to `limit` events of a deleted business, told or not. Returns how many went; 0 = done. Absent where events stand in a
   * log that removes by age only.
   */
  forgetEvents?(business: BusinessNumber, limit: number): Promise<number>
  /** Events of a business that are kept, by a walk over all: may be slow. Absent as `forgetEvents` is. */
  countEvents?(business: BusinessNumber): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
