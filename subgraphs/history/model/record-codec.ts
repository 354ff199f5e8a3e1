/**
 * The bytes in stores and logs: records of the domain as the messages of `schema/records.proto`. Every adapter stores these bytes, so a
 * record means the same in each of them.
 *
 * The generated decoder returns 64-bit fields as `Long` objects, and leaves absent fields to its prototype. This file returns plain objects
 * of the domain with all fields, and every number stays below 2^53. Fields added by a newer version are dropped. Bytes that are not such a
 * message throw; the log quarantines them.
 */
import { tidemark } from '../../../schema/records.js'
import type { ProgressRecord, ViewerSettings } from '../../../core/domain.ts'
import { plainNumber } from '../../../core/protobuf.ts'

export function encodeProgress(record: ProgressRecord): Uint8Array {
  return tidemark.Progress.encode(record).finish()
}

export function decodeProgress(bytes: Uint8Array): ProgressRecord {
  return progressOf(tidemark.Progress.decode(bytes))
}

/** A decoded message, also as a part of another one. */
export function progressOf(message: tidemark.Progress): ProgressRecord {
  return {
    viewedAt: plainNumber(message.viewedAt),
    since: plainNumber(message.since),
    rank: plainNumber(message.rank),
    version: plainNumber(message.version),
    position: message.position,
    duration: message.duration,
    device: message.device,
    finished: message.finished,
    deleted: message.deleted,
  }
}

export function encodeSettings(settings: ViewerSettings): Uint8Array {
  return tidemark.Settings.encode(settings).finish()
}

export function decodeSettings(bytes: Uint8Array): ViewerSettings {
  return settingsOf(tidemark.Settings.decode(bytes))
}

/** A decoded message, also as a part of another one. */
export function settingsOf(message: tidemark.Settings): ViewerSettings {
  const clearedAt: Record<number, number> = {}
  for (const [business, moment] of Object.entries(message.clearedAt)) clearedAt[Number(business)] = plainNumber(moment)
  return { paused: message.paused, clearedAt, version: plainNumber(message.version) }
}
