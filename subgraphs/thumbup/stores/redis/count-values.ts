/** The values of the count cache: whole numbers as text, separated by commas. */
import type { BusinessNumber, OwnerSum, SubjectCounts, ViewerId, CountedSubject } from '../../../../core/domain.ts'

export function decodeCounts(counts: Buffer | null | undefined, version: Buffer | null | undefined): SubjectCounts | undefined {
  if (!counts || !version) return undefined
  const comma = counts.indexOf(COMMA)
  return {
    likes: wholeIn(counts, 0, comma),
    dislikes: wholeIn(counts, comma + 1, counts.length),
    version: wholeIn(version, 0, version.length),
  }
}

/** The format that `put-counts.lua` publishes: per subject `business:oid` and `likes,dislikes,version`, each after its length (1 byte). */
export function* decodeChanges(message: Buffer): Generator<CountedSubject, void, void> {
  for (let at = 0; at < message.length;) {
    const name = message.toString('utf8', at + 1, (at += 1 + (message[at] as number)))
    const value = message.subarray(at + 1, (at += 1 + (message[at] as number)))
    const colon = name.indexOf(':')
    const [likes = 0, dislikes = 0, version = 0] = numbersOf(value)
    yield { business: Number(name.slice(0, colon)), oid: name.slice(colon + 1), counts: { likes, dislikes, version } }
  }
}

export function decodeOwnerSum(value: Buffer | null | undefined): Pick<OwnerSum, 'likes' | 'version'> | undefined {
  if (!value) return undefined
  const [likes = 0, version = 0] = numbersOf(value)
  return { likes, version }
}

export function decodeLikersVersion(value: Buffer): { version: number; whole: boolean } {
  const [version = 0, whole = 0] = numbersOf(value)
  return { version, whole: whole === 1 }
}

export type OwnerKey = { business: BusinessNumber; owner: ViewerId }

const COMMA = 44
const ZERO = 48
/** Numbers with more digits may lose precision when they are added up digit by digit. */
const DIGITS_MAX = 15

/** Parses a whole number from bytes. A page of counts has a hundred of them, and this makes no string. */
function wholeIn(bytes: Buffer, start: number, end: number): number {
  if (start > end || end - start > DIGITS_MAX) return Number(bytes.toString('latin1', Math.max(0, start), Math.max(0, end)))
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO
    if (digit < 0 || digit > 9) return Number(bytes.toString('latin1', start, end))
    number = number * 10 + digit
  }
  return number
}

function numbersOf(value: Buffer): number[] {
  return String(value).split(',').map(Number)
}
