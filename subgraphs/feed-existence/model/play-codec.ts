/**
 * Plays of the log ↔ the messages of `schema/records.proto`. Other teams write these bytes, and pack plays of many viewers into one
 * message. A play that no store can hold is taken out, so that the other plays of the message are kept. A message is therefore decoded one
 * play at a time: the generated decoder rejects the whole message for one id that is not UTF-8. A play that is taken out keeps its bytes.
 */
import protobuf from 'protobufjs/minimal.js'
import { tidemark } from '../../../schema/records.js'
import type { Play } from '../../../core/domain.ts'
import { ID_BYTES_MAX } from '../../../core/keys.ts'
import { plainNumber } from '../../../core/protobuf.ts'

/** `wrong`: a message of the plays that were taken out, and the reason. The reason names no viewer and no id, since it is logged. */
export type DecodedPlays = { plays: Play[]; wrong?: { bytes: Uint8Array; reason: string } }

type Written = tidemark.Plays.Play.$Properties

const BUSINESS_MAX = 65_535

export function encodePlays(plays: readonly Play[]): Uint8Array {
  return tidemark.Plays.encode({ plays: [...plays] }).finish()
}

/** Throws if the bytes are not such a message, have no plays, or have no play that a store can hold. */
export function decodePlays(bytes: Uint8Array): DecodedPlays {
  const written = splitPlays(bytes)
  if (written.length === 0) throw new RangeError('the message has no plays')
  const plays: Play[] = []
  const wrong: Uint8Array[] = []
  let first: string | undefined
  for (const each of written) {
    const read = readPlay(each)
    const mistake = typeof read === 'string' ? read : mistakeOf(read)
    if (mistake !== undefined) wrong.push(each)
    else if (typeof read !== 'string') plays.push(playOf(read))
    first ??= mistake
  }
  if (first === undefined) return { plays }
  const reason = `${wrong.length} of ${written.length} plays cannot be held; the first of them: ${first}`
  if (plays.length === 0) throw new RangeError(reason)
  return { plays, wrong: { bytes: joinPlays(wrong), reason } }
}

/** The tag of `plays`: field 1, length-delimited. */
const PLAYS_TAG = 10

/** The bytes of each play. Throws if the bytes are not protobuf fields. */
function splitPlays(bytes: Uint8Array): Uint8Array[] {
  const reader = protobuf.Reader.create(bytes)
  const plays: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const tag = reader.tag()
    if (tag === PLAYS_TAG) plays.push(reader.bytes())
    else reader.skipType(tag & 7, 0, tag >>> 3)
  }
  return plays
}

function joinPlays(plays: readonly Uint8Array[]): Uint8Array {
  const writer = protobuf.Writer.create()
  for (const each of plays) writer.uint32(PLAYS_TAG).bytes(each)
  return writer.finish()
}

/** Returns a sentence if the play cannot be decoded. */
function readPlay(bytes: Uint8Array): Written | string {
  try {
    return tidemark.Plays.Play.decode(bytes)
  } catch (error) {
    const isText = error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    if (isText) return 'its viewer or oid is not UTF-8: send well-formed Unicode'
    return `it cannot be decoded: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Converts a play without mistakes. */
function playOf({ viewer, business, oid, playedAt }: Written): Play {
  return { viewer: viewer ?? '', business: business ?? 0, oid: oid ?? '', playedAt: plainNumber(playedAt ?? 0) }
}

function mistakeOf({ viewer, business, oid, playedAt }: Written): string | undefined {
  const number = business ?? 0
  if (number < 1 || number > BUSINESS_MAX) return `its business ${number} is not a number from 1 to ${BUSINESS_MAX}`
  // A number above 2^53 is an object; its text has the value.
  const time = Number(String(playedAt ?? 0))
  if (time < 1 || !Number.isSafeInteger(time)) return `its playedAt ${time} is not a time`
  return mistakeOfId('viewer', viewer ?? '') ?? mistakeOfId('oid', oid ?? '')
}

/** The rules of `checkId`. */
function mistakeOfId(what: string, id: string): string | undefined {
  const bytes = Buffer.byteLength(id)
  if (bytes === 0) return `its ${what} is empty: send 1 to ${ID_BYTES_MAX} bytes of UTF-8`
  if (bytes > ID_BYTES_MAX) return `its ${what} has ${bytes} bytes: send at most ${ID_BYTES_MAX} bytes of UTF-8`
  return id.isWellFormed() ? undefined : `its ${what} has half a surrogate pair: send well-formed Unicode`
}
