/**
 * The traces of a viewer in the logs and journals on LMDB. A flush message has keys of many viewers, and loses those of the viewer. If they
 * are keys of a newer write, the sweeper persists them.
 */
import { FOLLOW_BUSINESS } from '../../../config/feed.ts'
import type { FlushedKey, ViewerId } from '../../../core/domain.ts'
import type { Traces } from '../../../core/erasure/traces.ts'
import type { Stream } from '../../../core/log-consumer.ts'
import type { Bytes, Environment } from '../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../stores/lmdb/failures.ts'
import { makeLmdbTraces, type WalkTable } from '../../../stores/lmdb/traces.ts'
import { decodeFlush, decodeReward, encodeFlush } from '../../flush-codec.ts'
import { parseEntry } from '../../journal-entry.ts'
import { openLogTables } from './log-tables.ts'

/** The field `viewer` of all messages: field 1, length-delimited. */
const VIEWER_TAG = 10
const NEW_LINE = 0x0a

export function openLogTraces(environment: Environment, stream: Exclude<Stream, 'plays'>): Traces {
  const { flushes, dead, rewards } = openLogTables(environment, stream)
  return makeLmdbTraces(
    environment,
    (task) => failingAs('LOG_UNAVAILABLE', environment.folder, task),
    [],
    [
      {
        table: flushes,
        isOf: ({ value }, viewer) => decodeFlush(value).keys.some((key) => isOf(key, viewer)),
        without(value, viewer) {
          const message = decodeFlush(value)
          return Buffer.from(encodeFlush({ ...message, keys: message.keys.filter((key) => !isOf(key, viewer)) }))
        },
      },
      { table: rewards, isOf: ({ value }, viewer) => decodeReward(value).viewer === viewer },
      parkedIn(dead),
    ],
  )
}

/** In the business of follows, the subjects are viewers. */
function isOf({ viewer, business, oid }: FlushedKey, wanted: ViewerId): boolean {
  return viewer === wanted || (business === FOLLOW_BUSINESS && oid === wanted)
}

/** A parked message cannot be decoded. It is of the viewer if it has the bytes of the field. */
export function parkedIn(dead: Bytes): WalkTable {
  return {
    table: dead,
    isOf: ({ value }, viewer) => value.includes(Buffer.concat([Buffer.of(VIEWER_TAG, Buffer.byteLength(viewer)), Buffer.from(viewer)])),
  }
}

/** Waiting and parked entries of a journal. */
export function openJournalTraces(environment: Environment): Traces {
  // A value begins with its format (1 byte), and a parked one with the reason as a line.
  const viewerOf = (value: Buffer, at: number): ViewerId => parseEntry(value.toString('utf8', at + 1)).viewer
  return makeLmdbTraces(
    environment,
    (task) => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task),
    [],
    [
      { table: environment.table('entries'), isOf: ({ value }, viewer) => viewerOf(value, 0) === viewer },
      { table: environment.table('parked'), isOf: ({ value }, viewer) => viewerOf(value, value.indexOf(NEW_LINE) + 1) === viewer },
    ],
  )
}
