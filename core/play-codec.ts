/** Plays of the log ↔ the messages of `schema/records.proto`. Other teams write these bytes. */
import { tidemark } from '../schema/records.js'
import type { Play } from './domain.ts'
import { checkId } from './keys.ts'
import { plainNumber } from './record-codec.ts'

export function encodePlays(plays: readonly Play[]): Uint8Array {
  return tidemark.Plays.encode({ plays: [...plays] }).finish()
}

/** Throws if the bytes are no such message, or a play in it is one that no store can hold. */
export function decodePlays(bytes: Uint8Array): Play[] {
  const { plays } = tidemark.Plays.decode(bytes)
  if (plays.length === 0) throw new RangeError('the message has no plays')
  return plays.map(({ viewer, business, oid, playedAt }) => {
    const play = { viewer: viewer ?? '', business: business ?? 0, oid: oid ?? '', playedAt: plainNumber(playedAt ?? 0) }
    checkId(play.viewer, 'viewer')
    checkId(play.oid, 'oid')
    if (play.business < 1 || play.business > 65_535) throw new RangeError(`business ${play.business} is not a number from 1 to 65535`)
    if (play.playedAt < 1 || !Number.isSafeInteger(play.playedAt)) throw new RangeError(`playedAt ${play.playedAt} is no time`)
    return play
  })
}
