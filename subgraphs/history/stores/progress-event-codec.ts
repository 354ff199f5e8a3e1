/** Converts outgoing events of progress to the message of `schema/records.proto` and back. Consumers of other teams read these bytes. */
import { tidemark } from '../../../schema/records.js'
import { progressOf, settingsOf } from '../model/record-codec.ts'
import type { ProgressEvent } from './progress-events.ts'

export function encodeProgressEvent(event: ProgressEvent): Uint8Array {
  const message = 'key' in event ? { ...event.key, progress: event.record } : event
  return tidemark.ProgressEvent.encode(message).finish()
}

/** Throws if the bytes are not such an event. */
export function decodeProgressEvent(bytes: Uint8Array): ProgressEvent {
  const { viewer, business, oid, progress, settings } = tidemark.ProgressEvent.decode(bytes)
  if (progress) return { key: { viewer, business, oid }, record: progressOf(progress as tidemark.Progress) }
  if (settings) return { viewer, settings: settingsOf(settings as tidemark.Settings) }
  throw new RangeError('an event of progress has neither progress nor settings')
}
