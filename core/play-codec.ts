/**
 * Plays of the log ↔ the messages of `schema/records.proto`. Other teams write these bytes, and pack plays of many viewers into one
 * message: a play that no store can hold is taken out of it, so that it costs nobody else his.
 */
import { tidemark } from '../schema/records.js'
import type { Play } from './domain.ts'
import { ID_BYTES_MAX } from './keys.ts'
import { plainNumber } from './record-codec.ts'

/** `wrong`: a message of those that were taken out, and why; no viewer or id stands in the reason, as logs have it. */
export type DecodedPlays = { plays: Play[]; wrong?: { bytes: Uint8Array; reason: string } }

type Written = tidemark.Plays.Play.$Properties

const BUSINESS_MAX = 65_535

export function encodePlays(plays: readonly Play[]): Uint8Array {
  return tidemark.Plays.encode({ plays: [...plays] }).finish()
}

/** Throws if the bytes are no such message, or one without plays, or no play in it is one that a store can hold. */
export function decodePlays(bytes: Uint8Array): DecodedPlays {
  const written: readonly Written[] = tidemark.Plays.decode(bytes).plays
  if (written.length === 0) throw new RangeError('the message has no plays')
  const mistakes = written.map(mistakeOf)
  const isWrong = (_: unknown, at: number): boolean => mistakes[at] !== undefined
  const wrong = written.filter(isWrong)
  const plays = written.filter((_, at) => !isWrong(_, at)).map(playOf)
  if (wrong.length === 0) return { plays }
  const reason = `${wrong.length} of ${written.length} plays cannot be held; the first of them: ${mistakes.find((each) => each !== undefined)}`
  if (plays.length === 0) throw new RangeError(reason)
  return { plays, wrong: { bytes: tidemark.Plays.encode({ plays: [...wrong] }).finish(), reason } }
}

/** Of a play without mistakes. */
function playOf({ viewer, business, oid, playedAt }: Written): Play {
  return { viewer: viewer ?? '', business: business ?? 0, oid: oid ?? '', playedAt: plainNumber(playedAt ?? 0) }
}

function mistakeOf({ viewer, business, oid, playedAt }: Written): string | undefined {
  const number = business ?? 0
  if (number < 1 || number > BUSINESS_MAX) return `its business ${number} is not a number from 1 to ${BUSINESS_MAX}`
  // Above 2^53 it is an object that has it as text.
  const time = Number(String(playedAt ?? 0))
  if (time < 1 || !Number.isSafeInteger(time)) return `its playedAt ${time} is no time`
  return mistakeOfId('viewer', viewer ?? '') ?? mistakeOfId('oid', oid ?? '')
}

/** As `checkId` has it. */
function mistakeOfId(what: string, id: string): string | undefined {
  const bytes = Buffer.byteLength(id)
  if (bytes === 0) return `its ${what} is empty: send 1 to ${ID_BYTES_MAX} bytes of UTF-8`
  if (bytes > ID_BYTES_MAX) return `its ${what} has ${bytes} bytes: send at most ${ID_BYTES_MAX} bytes of UTF-8`
  return id.isWellFormed() ? undefined : `its ${what} has half a surrogate pair: send well-formed Unicode`
}
