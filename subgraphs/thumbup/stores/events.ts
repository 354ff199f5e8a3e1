/**
 * Port: the outgoing events of marks: every transition (`mark`) and every change of counts (`count`). Delivery is at least once. A repeated
 * event has the same id. schema/records.proto documents the events for consumers.
 *
 * Every adapter passes `test/contracts/thumbup/events.ts`. Failures surface as `LOG_UNAVAILABLE` (retryable).
 */
import type { BusinessNumber, Mark, SubjectCounts, ViewerId } from '../../../core/domain.ts'

export type MarkEvent = {
  /** `{viewer length}:{viewer}{business}:{oid}@{version}` (`markEventId` in subgraphs/thumbup/persist/events.ts). */
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
  /** The time (ms since the epoch, the log's or the process's clock) up to which all appended events have come. */
  readUntil(): number
  stop(): Promise<void>
}

export interface MarkEvents {
  /** Durable when it resolves. Events of one key keep their order. */
  appendEvents(marks: readonly MarkEvent[], counts: readonly CountEvent[]): Promise<void>
  /**
   * Delivers count events to this process, each at least once, in order per subject, from the place of `group`. A new group begins now.
   * When `onCounts` rejects, the same events come again.
   */
  consumeCounts(group: string, onCounts: (events: readonly CountEvent[]) => Promise<void>): Promise<EventConsumer>
  /** As `consumeCounts`, for transitions. */
  consumeMarks(group: string, onMarks: (events: readonly MarkEvent[]) => Promise<void>): Promise<EventConsumer>
  /**
   * Removes up to `limit` events of a deleted business, published or not. Returns the number of removed events; 0 = done. Absent for a log
   * that removes events by age only.
   */
  forgetEvents?(business: BusinessNumber, limit: number): Promise<number>
  /** The number of kept events of a business, by a walk over all: may be slow. Absent where `forgetEvents` is. */
  countEvents?(business: BusinessNumber): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
