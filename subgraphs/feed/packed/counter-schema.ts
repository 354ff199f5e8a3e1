/**
 * Counter schemas: the counters of one subject as a few bytes. A schema gives each counter its number of bits, in order.
 *
 * An entry has the counters one after the other, without gaps, the most significant bit first. Zero bits fill the last byte. With
 * `{ repost: 24, comment: 20, like: 24, read: 32 }` an entry has 100 bits in 13 bytes:
 *
 *   bits 0 to 23    repost      bytes 0 to 2
 *   bits 24 to 43   comment     bytes 3 and 4, and the upper half of byte 5
 *   bits 44 to 67   like        the lower half of byte 5, bytes 6 and 7, and the upper half of byte 8
 *   bits 68 to 99   read        the lower half of byte 8, bytes 9 to 11, and the upper half of byte 12
 *
 * This is the order of BITFIELD of Redis, which can read `u20 24` from it.
 *
 * A counter whose bits are all ones is saturated: its value is in the overflow entry of the subject. That entry exists only while a counter
 * is saturated. It has 8 bytes per counter in the same order, big endian: the value of a saturated counter, 0 for the others. A subject
 * without an entry has zeros.
 */
import { TidemarkError } from '../../../core/errors.ts'

/** Counters of one subject as stored. `overflow`: present while a counter is saturated. */
export type PackedCounts = { entry: Buffer; overflow: Buffer | undefined }

export type CounterSchema<Name extends string> = {
  readonly names: readonly Name[]
  /** In the order of the names. */
  readonly widths: readonly number[]
  /** Bytes of an entry. */
  readonly entryBytes: number
  /** Bytes of an overflow entry. */
  readonly overflowBytes: number
  /** Counts are whole numbers, 0 to 2^53 - 1. */
  pack(counts: Readonly<Record<Name, number>>): PackedCounts
  /** Throws DATA_DAMAGED if a length is wrong, or a counter is saturated and has no overflow entry. */
  unpack(packed: PackedCounts): Record<Name, number>
  /** The same without an overflow entry; undefined if a counter is saturated. */
  unpackNarrow(entry: Buffer): Record<Name, number> | undefined
  /** The counts after these changes; an absent counter does not change. Undefined if one would leave 0 to 2^53 - 1. */
  add(packed: PackedCounts, deltas: Readonly<Partial<Record<Name, number>>>): PackedCounts | undefined
}

const OVERFLOW_BYTES = 8
const BITS_MAX = 48

/** Bits of a counter: 1 to 48. Throws CONFIG_INVALID for others, and without a counter. */
export function makeCounterSchema<Name extends string>(bitsOf: Readonly<Record<Name, number>>): CounterSchema<Name> {
  const names = Object.keys(bitsOf) as Name[]
  if (names.length === 0) throw new TidemarkError('CONFIG_INVALID', 'the counter schema is empty: give it at least one counter')
  let bits = 0
  const fields = names.map((name, at) => {
    const width = bitsOf[name]
    if (!Number.isInteger(width) || width < 1 || width > BITS_MAX)
      throw new TidemarkError('CONFIG_INVALID', `the counter ${name} has ${width} bits: give it 1 to ${BITS_MAX}`)
    const field = { name, at: bits, width, saturated: 2 ** width - 1, overflowAt: at * OVERFLOW_BYTES }
    bits += width
    return field
  })
  const entryBytes = Math.ceil(bits / 8)
  const overflowBytes = names.length * OVERFLOW_BYTES

  function pack(counts: Readonly<Record<Name, number>>): PackedCounts {
    const entry = Buffer.alloc(entryBytes)
    let overflow: Buffer | undefined
    for (const { name, at, width, saturated, overflowAt } of fields) {
      writeBits(entry, at, width, Math.min(counts[name], saturated))
      if (counts[name] < saturated) continue
      overflow ??= Buffer.alloc(overflowBytes)
      overflow.writeBigUInt64BE(BigInt(counts[name]), overflowAt)
    }
    return { entry, overflow }
  }

  function unpack({ entry, overflow }: PackedCounts): Record<Name, number> {
    if (entry.length !== entryBytes) throw damaged(`an entry has ${entry.length} bytes instead of ${entryBytes}`)
    const counts = {} as Record<Name, number>
    for (const { name, at, width, saturated, overflowAt } of fields) {
      const value = readBits(entry, at, width)
      if (value < saturated) counts[name] = value
      else if (overflow?.length === overflowBytes) counts[name] = Number(overflow.readBigUInt64BE(overflowAt))
      else throw damaged(`${name} is saturated, and its overflow entry has ${overflow?.length ?? 0} bytes instead of ${overflowBytes}`)
    }
    return counts
  }

  function add(packed: PackedCounts, deltas: Readonly<Partial<Record<Name, number>>>): PackedCounts | undefined {
    const counts = unpack(packed)
    for (const name of names) {
      counts[name] += deltas[name] ?? 0
      if (counts[name] < 0 || counts[name] > Number.MAX_SAFE_INTEGER) return undefined
    }
    return pack(counts)
  }

  function unpackNarrow(entry: Buffer): Record<Name, number> | undefined {
    const counts = {} as Record<Name, number>
    for (const { name, at, width, saturated } of fields) {
      const value = readBits(entry, at, width)
      if (value === saturated) return undefined
      counts[name] = value
    }
    return counts
  }

  return { names, widths: fields.map(({ width }) => width), entryBytes, overflowBytes, pack, unpack, unpackNarrow, add }
}

/** Such as "repost:24 comment:20": stores keep it beside the entries. */
export function schemaText({ names, widths }: CounterSchema<string>): string {
  return names.map((name, at) => `${name}:${widths[at]}`).join(' ')
}

export function schemaOfText(text: string): CounterSchema<string> {
  const fields = text.split(' ').map((field) => field.split(':') as [string, string])
  return makeCounterSchema(Object.fromEntries(fields.map(([name, width]) => [name, Number(width)])))
}

function damaged(mistake: string): TidemarkError {
  return new TidemarkError('DATA_DAMAGED', `counters are damaged: ${mistake}. Restore them from the record store`)
}

/** Bits are numbered from the most significant one of byte 0. */
function readBits(bytes: Buffer, at: number, width: number): number {
  const first = at >>> 3
  const end = at + width
  const last = (end - 1) >>> 3
  let value = (bytes[first] as number) & (0xff >>> (at & 7))
  for (let place = first + 1; place < last; place++) value = value * 256 + (bytes[place] as number)
  const spare = 7 - ((end - 1) & 7)
  if (last === first) return value >>> spare
  return value * 2 ** (8 - spare) + ((bytes[last] as number) >>> spare)
}

/** The bits must be zero before. */
function writeBits(bytes: Buffer, at: number, width: number, value: number): void {
  let rest = value
  for (let end = at + width; end > at;) {
    const filled = ((end - 1) % 8) + 1
    const taken = Math.min(filled, end - at)
    const byte = (end - 1) >>> 3
    bytes[byte] = (bytes[byte] as number) | ((rest % 2 ** taken) << (8 - filled))
    rest = Math.floor(rest / 2 ** taken)
    end -= taken
  }
}
