/**
 * The ids of a block of marks (`subgraphs/thumbup/archive/block.ts`) as columns, one per kind of id, in the order of the entries:
 *
 * - small: decimal integers below 2^52, each as the varint of its signed distance from the previous one (the first from 0). Ids that grow
 *   with time, as on most sites, are close together when their marks are.
 * - wide: decimal integers from 2^52 to 2^63 - 1 (snowflakes), split between decimal digits to avoid 64-bit arithmetic. First the parts
 *   above 10^12, like small ids, then the lowest twelve digits in 5 bytes, lowest byte first.
 * - text: all other ids, as in `subgraphs/thumbup/archive/block-text.ts`.
 *
 * A column is absent if the block has no id of its kind. Reading produces numbers. They become strings at the end, or, in a lookup, only
 * for found ids.
 */
import { isIntegerId } from '../../../core/keys.ts'
import { readText, textBytesMax, writeText } from './block-text.ts'
import { VARINT_BYTES_MAX, foldSign, readVarint, unfoldSign, writeVarint } from '../../../core/varint.ts'
import type { ByteReader } from '../../../core/varint.ts'

export const ID_KINDS = { small: 0, wide: 1, text: 2 } as const
export type IdKind = (typeof ID_KINDS)[keyof typeof ID_KINDS]

const SMALL_BELOW = 2 ** 52
const LOW_DIGITS = 12
const LOW_BYTES = 5
const WIDE_BYTES_MAX = VARINT_BYTES_MAX + LOW_BYTES

export type IdColumns = { small: Float64Array; wideHigh: Float64Array; wideLow: Float64Array; text: string[] }

export function idKind(id: string): IdKind {
  if (!isIntegerId(id)) return ID_KINDS.text
  return id.length <= 15 || (id.length === 16 && Number(id) < SMALL_BELOW) ? ID_KINDS.small : ID_KINDS.wide
}

/** At least the number of bytes that `writeIdColumns` needs. */
export function idColumnsBytesMax(ids: readonly string[]): number {
  return ids.length * WIDE_BYTES_MAX + textBytesMax(ids)
}

export function writeIdColumns(ids: readonly string[], kinds: Uint8Array, target: Buffer, offset: number): number {
  let at = offset
  let small = 0
  let high = 0
  const wide: string[] = []
  const text: string[] = []
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as string
    if (kinds[i] === ID_KINDS.wide) wide.push(id)
    else if (kinds[i] === ID_KINDS.text) text.push(id)
    else {
      const value = Number(id)
      at = writeVarint(foldSign(value - small), target, at)
      small = value
    }
  }
  for (const id of wide) {
    const value = Number(id.slice(0, -LOW_DIGITS))
    at = writeVarint(foldSign(value - high), target, at)
    at = target.writeUIntLE(Number(id.slice(-LOW_DIGITS)), at, LOW_BYTES)
    high = value
  }
  return text.length === 0 ? at : writeText(text, target, at)
}

/** `counts`: the number of ids of each kind. */
export function readIdColumns(reader: ByteReader, counts: readonly number[]): IdColumns {
  const [smallCount = 0, wideCount = 0, textCount = 0] = counts
  const small = new Float64Array(smallCount)
  for (let i = 0, value = 0; i < smallCount; i++) small[i] = value += unfoldSign(readVarint(reader))
  const wideHigh = new Float64Array(wideCount)
  const wideLow = new Float64Array(wideCount)
  for (let i = 0, value = 0; i < wideCount; i++) {
    wideHigh[i] = value += unfoldSign(readVarint(reader))
    wideLow[i] = readLow(reader)
  }
  return { small, wideHigh, wideLow, text: textCount === 0 ? [] : readText(reader, textCount) }
}

function readLow(reader: ByteReader): number {
  const { bytes, at } = reader
  reader.at = at + LOW_BYTES
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
  return low + (bytes[at + 3] as number) * 2 ** 24 + (bytes[at + 4] as number) * 2 ** 32
}

const FOUR_DIGITS = Array.from({ length: 10_000 }, (_, i) => String(i).padStart(4, '0'))

/** Equals `String(value)`, in half the time for numbers above 2^31. */
export function smallText(value: number): string {
  if (value < 10_000) return `${value}`
  if (value < 2 ** 31) {
    const rest = (value / 10_000) | 0
    return smallText(rest) + (FOUR_DIGITS[value - rest * 10_000] as string)
  }
  const high = Math.floor(value / 100_000_000)
  const low = value - high * 100_000_000
  const rest = (low / 10_000) | 0
  return `${smallText(high)}${FOUR_DIGITS[rest]}${FOUR_DIGITS[low - rest * 10_000]}`
}

export function wideText(high: number, low: number): string {
  const rest = Math.floor(low / 10_000)
  const top = Math.floor(rest / 10_000)
  return `${high}${FOUR_DIGITS[top]}${FOUR_DIGITS[rest - top * 10_000]}${FOUR_DIGITS[low - rest * 10_000]}`
}

/** Wanted ids, prepared once for many blocks. */
export type WantedIds = { small: Map<number, string>; wideLows: Set<number>; wide: Set<string>; text: Set<string> }

export function wantIds(ids: Iterable<string>): WantedIds {
  const wanted: WantedIds = { small: new Map(), wideLows: new Set(), wide: new Set(), text: new Set() }
  for (const id of ids) {
    const kind = idKind(id)
    if (kind === ID_KINDS.small) wanted.small.set(Number(id), id)
    else if (kind === ID_KINDS.text) wanted.text.add(id)
    else {
      wanted.wideLows.add(Number(id.slice(-LOW_DIGITS)))
      wanted.wide.add(id)
    }
  }
  return wanted
}

/** The id at a place in the column of its kind, if it is wanted. */
export function wantedIdAt(columns: IdColumns, kind: IdKind, place: number, wanted: WantedIds): string | undefined {
  if (kind === ID_KINDS.small) return wanted.small.size === 0 ? undefined : wanted.small.get(columns.small[place] as number)
  if (kind === ID_KINDS.text) return wanted.text.has(columns.text[place] as string) ? columns.text[place] : undefined
  const low = columns.wideLow[place] as number
  if (!wanted.wideLows.has(low)) return undefined
  const id = wideText(columns.wideHigh[place] as number, low)
  return wanted.wide.has(id) ? id : undefined
}

export function idAt(columns: IdColumns, kind: IdKind, place: number): string {
  if (kind === ID_KINDS.small) return smallText(columns.small[place] as number)
  if (kind === ID_KINDS.text) return columns.text[place] as string
  return wideText(columns.wideHigh[place] as number, columns.wideLow[place] as number)
}
