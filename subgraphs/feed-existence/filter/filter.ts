/**
 * The filter of a viewer's month: a set of hashes that answers "probably seen" or "certainly not seen". A key that was added is always
 * found, whatever is folded in before or after it. The rate of false "probably" answers stays within `rate`, however large the filter
 * grows.
 *
 * The set has the first w bits of each record's hash, sorted and Golomb-coded (`golomb-code.ts`). n records at w bits give a wrong answer n
 * / 2^w of the time and take w - log2(n) + 1.5 bits each. Bits can be dropped later, but never regained. A filter therefore begins with
 * room for `recordsMax` records (by default 50,000: 25 bits at the default rate). It is closed when its month has ended and its records are
 * counted.
 *
 * Bits per record, before and after closing: 13 and 10.2 for 10,000 records, 21 and 12 for 100. Small filters cost more because of the
 * header: 34 and 22 bits for 10 records. So do filters that outgrew their room: 13.4 bits for 100,000 records, in two sets. Dropping bits
 * is exact: the result equals a set that began with fewer bits. To fold is to decode, merge and encode.
 *
 * If more records come than there is room for, they go into a second set. Set one is never filled beyond 31/32 of the rate. Set two has 40
 * bits, where 86 million records take the remaining 32nd. A wrong estimate, or a late record of a closed month, costs bits but never raises
 * the rate.
 *
 * ## The format, byte by byte
 *
 * A varint is that of `core/varint.ts` (LEB128). `examples/read-filter` reads the format in Python.
 *
 *     0        0xF0 + the version of the format, 1
 *     1 – 4    CRC-32 (that of zlib) of byte 0 and all bytes from the 5th on; big endian. These five bytes are the same in every version
 *     5        the version of the hash (`subgraphs/feed-existence/filter/hash.ts`) × 16 + the kind of filter: 1, Golomb-coded sets
 *     varint   the rate it is sized for, in millionths
 *     varint   records: the keys that were new to it when they were added
 *     then, to the end, no set, or set one, or set one and set two:
 *       byte     w, bits of each hash that are kept: 1 to 40
 *       byte     k of the Rice code: 0 to 39
 *       varint   n, values: at least one. Keys whose first w bits are equal are one value
 *       varint   bytes of the code
 *       …        the code: the values in ascending order
 *
 * A key's value is the first w bits of 64: the first hash and the second behind it, each from its highest bit. A key is in the filter if
 * its value is in one of the sets.
 */
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { TidemarkError } from '../../../core/errors.ts'
import { decodeSet, encodeSet, riceBits } from './golomb-code.ts'
import { openSet, probedBits } from './golomb-probe.ts'
import { SEEN_HASH_VERSION } from './hash.ts'
import type { SeenHashes } from './hash.ts'
import { VALUE_BITS, mergeValues, missingValues, narrowed, sortedValues } from './hash-sets.ts'
import type { ValueSet } from './hash-sets.ts'
import { VARINT_BYTES_MAX, readVarint, writeVarint } from '../../../core/varint.ts'
import type { ByteReader } from '../../../core/varint.ts'

export type FilterOptions = {
  /** The share of unseen keys that are answered "probably", 0.0005 to 0.5. Four live filters share one budget: `rateOfEach`. */
  rate: number
  /**
   * The number of records to leave room for, existing ones included. Default: 50,000 for a new filter, and the present room for an existing
   * filter. 0 closes a filter: it keeps room for its records and no more.
   */
  recordsMax?: number | undefined
}

export type Probe = {
  readonly records: number
  /** Bytes of memory, for caches. */
  readonly bytes: number
  has(hash1: number, hash2: number): boolean
  /**
   * Sets the bit of each pair of hashes that is in the set. Pair i is bit i % 32 of word i / 32. Other bits stay, so several filters can be
   * probed into one bitmap.
   */
  hasMany(hashes: SeenHashes, found: Uint32Array): void
}

export type FilterMeasure = {
  records: number
  bytes: number
  /** The rate that it is sized for. */
  rate: number
  /** The share of unseen keys that the opened filter answers "probably", with the sets as they are now. */
  expectedRate: number
  /** The number of further records that the first set has room for at the rate. */
  room: number
}

export const RATE_MIN = 0.0005
export const RATE_MAX = 0.5

const MAGIC = 0xf0
const FORMAT = 1
const CHECKED_FROM = 5
const KIND = 1
const RATE_UNIT = 1e6
/** The room of a new filter by default. */
export const RECORDS_MAX_DEFAULT = 50_000
/** The share of the rate that set one may use. */
const FIRST_SHARE = 31 / 32
const HEADER_BYTES_MAX = CHECKED_FROM + 1 + 2 * VARINT_BYTES_MAX
const SET_HEADER_BYTES_MAX = 2 + 2 * VARINT_BYTES_MAX

type CodedSet = { width: number; k: number; count: number; code: Buffer }
type Filter = { rate: number; records: number; sets: CodedSet[] }

/** The rate of each filter, if this many are probed together and may be wrong `budget` of the time together. */
export function rateOfEach(budget: number, filters: number): number {
  return 1 - (1 - budget) ** (1 / filters)
}

export function emptyFilter({ rate }: FilterOptions): Buffer {
  return written({ rate: checkedRate(rate), records: 0, sets: [] })
}

/**
 * The filter with these keys folded in. `undefined` and an empty filter are the same. If nothing changes, the result is the same Buffer,
 * and the caller need not write it. Throws DATA_DAMAGED and DATA_INCOMPATIBLE.
 */
export function addToFilter(blob: Buffer | undefined, hashes: SeenHashes, options: FilterOptions): Buffer {
  const rate = checkedRate(options.rate)
  const filter: Filter = blob === undefined ? { rate, records: 0, sets: [] } : read(blob)
  const [first, second] = filter.sets.map((set): ValueSet => ({ width: set.width, values: decoded(set) }))
  const news = [first, second].reduce((rest, set) => (set === undefined ? rest : missingValues(rest, set)), sortedValues(hashes))
  const others = second?.values.length ?? 0
  const width =
    first === undefined
      ? widthOfNew(news.length, rate, options)
      : widthOfOld(first.width, filter.records + news.length - others, others, rate, options)
  const isChanged = news.length > 0 || rate !== filter.rate || (first !== undefined && first.width !== width)
  if (blob !== undefined && !isChanged) return blob

  const old = first === undefined ? NO_VALUES : narrowed(first.values, first.width, width)
  const merged = mergeValues(old, narrowed(news, VALUE_BITS, width))
  const fits = merged.length <= roomOf(width, rate)
  const sets = [{ width, values: fits ? merged : old }]
  if (!fits || second !== undefined) {
    sets.push({ width: VALUE_BITS, values: mergeValues(second?.values ?? NO_VALUES, fits ? NO_VALUES : news) })
  }
  return written({ rate, records: filter.records + news.length, sets: sets.filter(({ values }) => values.length > 0).map(coded) })
}

/**
 * The filter with the keys of both. It may exceed its room, and with it the rate: the hashes that one of them has dropped bits of cannot move
 * to the second set. If `a` has all keys of `b`, the result is `a`, the same Buffer. Throws DATA_DAMAGED and DATA_INCOMPATIBLE.
 */
export function mergeFilters(a: Buffer, b: Buffer): Buffer {
  const [one, other] = [read(a), read(b)]
  const sets = [0, 1].flatMap((place) => {
    const [left, right] = [one.sets[place], other.sets[place]]
    if (left === undefined || right === undefined) return left ?? right ?? []
    const width = Math.min(left.width, right.width)
    return coded({ width, values: mergeValues(narrowed(decoded(left), left.width, width), narrowed(decoded(right), right.width, width)) })
  })
  const values = sets.reduce((sum, { count }) => sum + count, 0)
  const merged = written({ rate: Math.min(one.rate, other.rate), records: Math.max(one.records, other.records, values), sets })
  return merged.equals(a) ? a : merged
}

/** Throws DATA_DAMAGED and DATA_INCOMPATIBLE. */
export function openFilter(blob: Buffer): Probe {
  const { records, sets } = read(blob)
  const probes = sets.map((set) => openSet(decoded(set), set.width))
  return {
    records,
    bytes: probes.reduce((sum, probe) => sum + probe.bytes, 0),
    has: (hash1, hash2) => probes.some((probe) => probe.has(hash1, hash2)),
    hasMany: (hashes, found) => {
      for (const probe of probes) probe.hasMany(hashes, found)
    },
  }
}

/** Checks the checksum without decoding. Throws DATA_DAMAGED and DATA_INCOMPATIBLE. */
export function measureFilter(blob: Buffer): FilterMeasure {
  const { rate, records, sets } = read(blob)
  const unseen = sets.reduce((share, { count, width }) => share * (1 - count / 2 ** probedBits(count, width)), 1)
  const [first] = sets
  const room = first === undefined ? RECORDS_MAX_DEFAULT : Math.max(0, roomOf(first.width, rate) - first.count)
  return { records, bytes: blob.length, rate, expectedRate: 1 - unseen, room }
}

const NO_VALUES = new Float64Array(0)

function checkedRate(rate: number): number {
  assert(rate >= RATE_MIN && rate <= RATE_MAX, `a filter's rate is ${RATE_MIN} to ${RATE_MAX}, not ${rate}`)
  // A rate in millionths survives the rounding of its double.
  return Math.floor(rate * RATE_UNIT + 1e-6) / RATE_UNIT
}

function widthOfNew(news: number, rate: number, { recordsMax = RECORDS_MAX_DEFAULT }: FilterOptions): number {
  return widthFor(Math.max(1, recordsMax, news), rate)
}

/**
 * Bits are only dropped, and only while existing and new records keep their room. `records`: those of set one, new ones included. The
 * number of values may be smaller, since dropping bits makes some equal. If it counted values, each repeated closing would drop one more
 * bit.
 */
function widthOfOld(width: number, records: number, others: number, rate: number, { recordsMax }: FilterOptions): number {
  if (recordsMax === undefined) return width
  return Math.min(width, widthFor(Math.max(records, recordsMax - others), rate))
}

function widthFor(records: number, rate: number): number {
  return Math.min(VALUE_BITS, Math.max(1, Math.ceil(Math.log2(records / (rate * FIRST_SHARE)))))
}

/** The number of values that set one may have. */
function roomOf(width: number, rate: number): number {
  return Math.floor(rate * FIRST_SHARE * 2 ** width)
}

function coded({ width, values }: ValueSet): CodedSet {
  const k = riceBits(values.length, width)
  return { width, k, count: values.length, code: encodeSet(values, k) }
}

function decoded({ width, k, count, code }: CodedSet): Float64Array {
  const values = decodeSet(code, count, k, width)
  if (values === undefined) throw damaged('a set does not match its header')
  return values
}

function written({ rate, records, sets }: Filter): Buffer {
  const codes = sets.reduce((sum, { code }) => sum + code.length, 0)
  const bytes = Buffer.alloc(HEADER_BYTES_MAX + sets.length * SET_HEADER_BYTES_MAX + codes)
  bytes[0] = MAGIC | FORMAT
  bytes[CHECKED_FROM] = SEEN_HASH_VERSION * 16 + KIND
  let at = writeVarint(Math.round(rate * RATE_UNIT), bytes, CHECKED_FROM + 1)
  at = writeVarint(records, bytes, at)
  for (const { width, k, count, code } of sets) {
    bytes[at] = width
    bytes[at + 1] = k
    at = writeVarint(count, bytes, at + 2)
    at = writeVarint(code.length, bytes, at)
    at += code.copy(bytes, at)
  }
  bytes.writeUInt32BE(checksum(bytes.subarray(0, at)), 1)
  return Buffer.from(bytes.subarray(0, at))
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(CHECKED_FROM), crc32(bytes.subarray(0, 1)))
}

/** Checks everything before use: a flipped bit in a filter would bring back watched subjects. */
function read(blob: Buffer): Filter {
  const first = blob[0] ?? 0
  if (blob.length <= CHECKED_FROM || (first & 0xf0) !== MAGIC) throw damaged(`its ${blob.length} bytes do not begin with a filter header`)
  if (blob.readUInt32BE(1) !== checksum(blob)) throw damaged('its checksum does not match its bytes')
  if ((first & 0x0f) !== FORMAT) throw incompatible(`format ${first & 0x0f}`, `format ${FORMAT}`)
  const kind = blob[CHECKED_FROM] as number
  if (kind !== SEEN_HASH_VERSION * 16 + KIND) {
    throw incompatible(`hash ${kind >>> 4} and kind ${kind & 15}`, `hash ${SEEN_HASH_VERSION} and kind ${KIND}`)
  }
  const reader: ByteReader = { bytes: blob, at: CHECKED_FROM + 1 }
  const rate = readVarint(reader) / RATE_UNIT
  const records = readVarint(reader)
  const sets: CodedSet[] = []
  while (reader.at < blob.length) sets.push(readSet(reader))
  // The checksum matches, so only a writer with a bug leads here.
  if (reader.at !== blob.length || sets.length > 2 || rate < RATE_MIN || rate > RATE_MAX) throw damaged('its header has impossible values')
  return { rate, records, sets }
}

function readSet(reader: ByteReader): CodedSet {
  const { bytes } = reader
  const width = bytes[reader.at] ?? 0
  const k = bytes[reader.at + 1] ?? 0
  reader.at += 2
  const count = readVarint(reader)
  const length = readVarint(reader)
  const code = bytes.subarray(reader.at, reader.at + length)
  reader.at += length
  // A value takes more than k bits. The check keeps a wrong count from allocating memory that the bytes do not justify.
  if (width < 1 || width > VALUE_BITS || k >= VALUE_BITS || count < 1 || count * (k + 1) > code.length * 8 || code.length !== length) {
    throw damaged('the header of a set has impossible values')
  }
  return { width, k, count, code }
}

function damaged(what: string): TidemarkError {
  const message = `a filter is damaged, ${what}: it must be rebuilt`
  return new TidemarkError('DATA_DAMAGED', message)
}

function incompatible(what: string, known: string): TidemarkError {
  const message = `a filter has ${what}, and this version reads ${known}: run the version that wrote it`
  return new TidemarkError('DATA_INCOMPATIBLE', message)
}
