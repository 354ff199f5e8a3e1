/**
 * The key codec: ids and subjects to bytes and back. Every store, log message and cursor uses it.
 *
 * A packed id includes its length, and no two ids have the same bytes:
 *
 * - A canonical decimal integer below 2^63 ("0", "42", never "007") is 8 bytes, big endian; its first bit is 0.
 * - Any other id is one byte 0x80 + length (1 to 64), then that many bytes of UTF-8.
 *
 * Integers are therefore ordered by value and come before all other ids, which are ordered by length and then by bytes.
 */
import { TidemarkError } from './errors.ts'

export const ID_BYTES_MAX = 64
/** Maximum bytes that `packId` writes. */
export const PACKED_ID_BYTES_MAX = 1 + ID_BYTES_MAX

const LARGEST_INTEGER = '9223372036854775807'

/** Throws ID_INVALID unless `id` is 1 to 64 bytes of well-formed UTF-8. `field` names it, and `at` its place if the field is a list. */
export function checkId(id: string, field: string, at?: number): void {
  if (id.length === 0) throw idInvalid(field, at, `is empty: send 1 to ${ID_BYTES_MAX} bytes of UTF-8`)
  if (id.length * 3 > ID_BYTES_MAX || !isAscii(id)) {
    const bytes = Buffer.byteLength(id)
    if (bytes > ID_BYTES_MAX)
      throw idInvalid(field, at, `"${id.slice(0, 16)}…" has ${bytes} bytes: send at most ${ID_BYTES_MAX} bytes of UTF-8`)
    if (!id.isWellFormed()) throw idInvalid(field, at, 'has half a surrogate pair: send well-formed Unicode')
  }
}

function idInvalid(field: string, at: number | undefined, mistake: string): TidemarkError {
  if (at === undefined) return new TidemarkError('ID_INVALID', `${field} ${mistake}`, { path: [field] })
  return new TidemarkError('ID_INVALID', `${field}[${at}] ${mistake}`, { path: [field, String(at)] })
}

/**
 * An id from a client or another subgraph, in JSON, as text: a string, or a whole number that is exact. Throws ID_INVALID for anything
 * else, including a number that was rounded when it was parsed.
 */
export function idFrom(value: unknown, what: string): string {
  if (typeof value === 'string') {
    checkId(value, what)
    return value
  }
  if (Number.isSafeInteger(value)) return String(value)
  if (typeof value === 'number' && Number.isInteger(value)) throw new TidemarkError('ID_INVALID', inexactIdMistake(value, what))
  if (value === undefined) throw new TidemarkError('ID_INVALID', `${what} is missing: send an id as a string`)
  const given = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
  throw new TidemarkError('ID_INVALID', `${what} is ${given}: send ids as strings`)
}

/** The message for an id that came as a JSON number beyond the precision of JavaScript and of many other parsers. */
export function inexactIdMistake(value: number, what: string): string {
  return `${what} is the number ${value}, which is beyond 2^53 - 1 and was rounded: send ids as strings`
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}

/** True for "0" and digits without a leading zero, up to 2^63 - 1. */
export function isIntegerId(id: string): boolean {
  const length = id.length
  if (length === 0 || length > 19) return false
  const first = id.charCodeAt(0)
  if (first < 48 || first > 57 || (first === 48 && length > 1)) return false
  for (let i = 1; i < length; i++) {
    const digit = id.charCodeAt(i)
    if (digit < 48 || digit > 57) return false
  }
  return length < 19 || id <= LARGEST_INTEGER
}

/** Writes the packed id at `offset`; returns the offset after it. The id must have passed `checkId`. */
export function packId(id: string, target: Buffer, offset: number): number {
  if (isIntegerId(id)) {
    if (id.length <= 15) {
      const value = Number(id)
      target.writeUInt32BE(Math.floor(value / 2 ** 32), offset)
      target.writeUInt32BE(value >>> 0, offset + 4)
    } else {
      target.writeBigUInt64BE(BigInt(id), offset)
    }
    return offset + 8
  }
  const length = target.write(id, offset + 1)
  target[offset] = 0x80 | length
  return offset + 1 + length
}

/** The packed id in a buffer of its own. */
export function packedIdOf(id: string): Buffer {
  const packed = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX)
  return packed.subarray(0, packId(id, packed, 0))
}

/** The length of the packed id at `offset`. */
export function packedIdLength(source: Buffer, offset: number): number {
  const first = source[offset] as number
  return first < 0x80 ? 8 : 1 + (first & 0x7f)
}

export function unpackId(source: Buffer, offset: number): string {
  const first = source[offset] as number
  if (first >= 0x80) return source.toString('utf8', offset + 1, offset + 1 + (first & 0x7f))
  const high = source.readUInt32BE(offset)
  if (high < 2 ** 21) return String(high * 2 ** 32 + source.readUInt32BE(offset + 4))
  return source.readBigUInt64BE(offset).toString()
}

/** Orders ids as their packed bytes do. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0
  const aInteger = isIntegerId(a)
  if (aInteger !== isIntegerId(b)) return aInteger ? -1 : 1
  if (aInteger) return a.length !== b.length ? a.length - b.length : a < b ? -1 : 1
  const aBytes = Buffer.from(a)
  const bBytes = Buffer.from(b)
  return aBytes.length !== bBytes.length ? aBytes.length - bBytes.length : Buffer.compare(aBytes, bBytes)
}
