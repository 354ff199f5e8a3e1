/**
 * Port: the outgoing events of progress, for analytics and other services. An event has the newest content of a record or of a viewer's
 * settings at the moment at which it was persisted, so many reports in a window become one event. At least once while the log answers, and in
 * no fixed order: of two events of one key, the one with the higher version is newer. What is persisted while the log is down has no event.
 * It is counted, and `tidemark export --since` has it.
 */
import type { ProgressRow } from '../../../core/domain.ts'
import type { SettingsRow } from './record-store.ts'

/** `key` and `record` of a progress record, or the settings of a viewer. */
export type ProgressEvent = ProgressRow | SettingsRow

export interface ProgressEvents {
  /** Durable when it resolves. Rejects with LOG_UNAVAILABLE or TOPIC_MISSING. */
  append(events: readonly ProgressEvent[]): Promise<void>
  close(): Promise<void>
}

/** Sends these events, or counts them if the log is down. Never rejects, so an outage of the log keeps no row from the record store. */
export type PublishProgress = (events: readonly ProgressEvent[]) => Promise<void>
