/**
 * A block: up to about a thousand archived marks of one owner, in 4 to 12 bytes each (more for long text ids). A row takes 60 to 80. The
 * owner is a viewer, with ids of subjects, or a subject, with ids of viewers. The store of the block knows which. Entries are in the order
 * of pages: newest first, and within a moment in the order of their ids (`compareEntries`). Equal sets of marks have equal bytes.
 *
 * Byte by byte; a varint is that of `core/varint.ts`:
 *
 *     0       0xB0 + the version of the format, 1
 *     1 – 4   CRC-32 of all bytes from the 5th on, begun with byte 0; big endian. These five bytes are the same in every version
 *     5       the kinds of ids in the block: 1 small, 2 wide, 4 text, added up
 *     varint  likes
 *     varint  dislikes; likes + dislikes = n entries, at least one
 *     varint  markedAt of the newest entry, milliseconds since the epoch
 *     varint  unit: the largest number of milliseconds that divides all distances in time; 1 if there is none
 *     varint  span: units from the oldest entry to the newest
 *     n / 4   if there are several kinds of ids: two bits for each entry, lowest first: 0 small, 1 wide, 2 text
 *     n / 8   if there are likes and dislikes: a bit for each entry, lowest first: 1 for a dislike
 *     n - 1 varints   units from each entry to the previous one
 *     …       the columns of ids (`subgraphs/thumbup/archive/block-ids.ts`), to the end
 *
 * The unit costs a byte for exact times, and saves one or two bytes per mark for times in seconds or days.
 *
 * A block has no versions of marks, which would take two or three bytes more. Versions decide between concurrent writes of the same
 * millisecond. A mark is archived long afterwards, when its transactions have decided, and the hot store holds later writes by then.
 * Against an archived mark, markedAt alone decides, and at equal times the later writer wins: `winsOver` sees version 0.
 *
 * A block is checked completely before any of it is used, the header included. A reader that skips a block by its header would otherwise
 * lose marks to one flipped bit. The checksum of 6 KB takes about a microsecond.
 */
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import type { Mark, MarkEntry, MarkPlace } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { checkId, compareIds } from '../../../core/keys.ts'
import { idAt, idColumnsBytesMax, idKind, readIdColumns, wantedIdAt, writeIdColumns } from './block-ids.ts'
import type { IdColumns, IdKind, WantedIds } from './block-ids.ts'
import { VARINT_BYTES_MAX, readVarint, writeVarint } from '../../../core/varint.ts'
import type { ByteReader } from '../../../core/varint.ts'

/** `id` is the other end of the mark. `markedAt` is below 2^53. */
export type ArchivedMark = MarkEntry & { mark: Exclude<Mark, 'NONE'> }

export type BlockHeader = {
  /** The version of the format. */
  format: number
  likes: number
  dislikes: number
  /** markedAt of the first and the last entry. */
  newestAt: number
  oldestAt: number
}

const MAGIC = 0xb0
const FORMAT = 1
const CHECKED_FROM = 5
const HEADER_BYTES_MAX = 6 + 5 * VARINT_BYTES_MAX

/** Negative if `a` comes before `b` in a list. */
export function compareEntries(a: MarkPlace, b: MarkPlace): number {
  return b.markedAt - a.markedAt || compareIds(a.id, b.id)
}

/** At least one entry, in any order, each id once. Throws ID_INVALID. */
export function encodeBlock(entries: readonly ArchivedMark[]): Buffer {
  const sorted = entries.toSorted(compareEntries)
  const ids = sorted.map((entry) => entry.id)
  checkEntries(sorted, ids)
  const count = sorted.length
  const kinds = Uint8Array.from(ids, idKind)
  const kindBits = kinds.reduce((bits, kind) => bits | (1 << kind), 0)
  const dislikes = sorted.reduce((sum, { mark }) => sum + (mark === 'DISLIKE' ? 1 : 0), 0)
  const newestAt = (sorted[0] as ArchivedMark).markedAt
  const unit = timeUnit(sorted)

  const bytes = Buffer.alloc(HEADER_BYTES_MAX + count * (1 + VARINT_BYTES_MAX) + idColumnsBytesMax(ids))
  bytes[0] = MAGIC | FORMAT
  bytes[CHECKED_FROM] = kindBits
  let at = writeVarint(count - dislikes, bytes, CHECKED_FROM + 1)
  at = writeVarint(dislikes, bytes, at)
  at = writeVarint(newestAt, bytes, at)
  at = writeVarint(unit, bytes, at)
  at = writeVarint((newestAt - (sorted[count - 1] as ArchivedMark).markedAt) / unit, bytes, at)
  if (hasSeveral(kindBits)) {
    for (let i = 0; i < count; i++) orInto(bytes, at + (i >>> 2), (kinds[i] as number) << ((i & 3) * 2))
    at += Math.ceil(count / 4)
  }
  if (dislikes > 0 && dislikes < count) {
    for (let i = 0; i < count; i++) if (sorted[i]?.mark === 'DISLIKE') orInto(bytes, at + (i >>> 3), 1 << (i & 7))
    at += Math.ceil(count / 8)
  }
  for (let i = 1, previous = newestAt; i < count; i++) {
    const { markedAt } = sorted[i] as ArchivedMark
    at = writeVarint((previous - markedAt) / unit, bytes, at)
    previous = markedAt
  }
  const end = writeIdColumns(ids, kinds, bytes, at)
  bytes.writeUInt32BE(checksum(bytes.subarray(0, end)), 1)
  return Buffer.from(bytes.subarray(0, end))
}

function checkEntries(sorted: readonly ArchivedMark[], ids: readonly string[]): void {
  assert(sorted.length > 0, 'a block has at least one mark')
  assert(new Set(ids).size === ids.length, 'a block has each id once')
  for (const { id, markedAt } of sorted) {
    checkId(id, 'id')
    assert(Number.isSafeInteger(markedAt) && markedAt >= 0, `markedAt ${markedAt} is whole milliseconds below 2^53`)
  }
}

/** Euclid's algorithm over all distances. It is nearly always 1 after a few. */
function timeUnit(sorted: readonly ArchivedMark[]): number {
  let unit = 0
  for (let i = 1; i < sorted.length && unit !== 1; i++) {
    let rest = (sorted[i - 1] as ArchivedMark).markedAt - (sorted[i] as ArchivedMark).markedAt
    while (rest !== 0) [unit, rest] = [rest, unit % rest]
  }
  return unit === 0 ? 1 : unit
}

function hasSeveral(kindBits: number): boolean {
  return (kindBits & (kindBits - 1)) !== 0
}

function orInto(bytes: Buffer, at: number, bits: number): void {
  bytes[at] = (bytes[at] as number) | bits
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(CHECKED_FROM), bytes[0])
}

/** Throws DATA_DAMAGED and DATA_INCOMPATIBLE, like all readers of a block. */
export function blockHeader(block: Buffer): BlockHeader {
  return openBlock(block).header
}

/** All entries, in the order of pages. */
export function decodeBlock(block: Buffer): ArchivedMark[] {
  const { count, times, isDislike, kinds, columns } = readColumns(block)
  const next = [0, 0, 0]
  const entries: ArchivedMark[] = []
  for (let i = 0; i < count; i++) {
    const kind = kindAt(kinds, i)
    const place = next[kind] as number
    next[kind] = place + 1
    entries.push({ id: idAt(columns, kind, place), mark: isDislike(i) ? 'DISLIKE' : 'LIKE', markedAt: times[i] as number })
  }
  return entries
}

/** The entries with wanted ids, in the order of pages. Makes no string of any other id. */
export function findInBlock(block: Buffer, wanted: WantedIds): ArchivedMark[] {
  const { count, times, isDislike, kinds, columns } = readColumns(block)
  const next = [0, 0, 0]
  const found: ArchivedMark[] = []
  for (let i = 0; i < count; i++) {
    const kind = kindAt(kinds, i)
    const place = next[kind] as number
    next[kind] = place + 1
    const id = wantedIdAt(columns, kind, place, wanted)
    if (id !== undefined) found.push({ id, mark: isDislike(i) ? 'DISLIKE' : 'LIKE', markedAt: times[i] as number })
  }
  return found
}

/** One kind for all, or two bits for each. */
type Kinds = IdKind | Buffer

function kindAt(kinds: Kinds, i: number): IdKind {
  return typeof kinds === 'number' ? kinds : ((((kinds[i >>> 2] as number) >>> ((i & 3) * 2)) & 3) as IdKind)
}

type Columns = { count: number; times: Float64Array; isDislike: (i: number) => boolean; kinds: Kinds; columns: IdColumns }

function readColumns(block: Buffer): Columns {
  const { header, unit, kindBits, reader } = openBlock(block)
  const count = header.likes + header.dislikes
  const kinds: Kinds = hasSeveral(kindBits) ? take(reader, Math.ceil(count / 4)) : ((31 - Math.clz32(kindBits)) as IdKind)
  const dislikeBits = header.likes > 0 && header.dislikes > 0 ? take(reader, Math.ceil(count / 8)) : undefined
  const isDislike = (i: number) =>
    dislikeBits === undefined ? header.likes === 0 : (((dislikeBits[i >>> 3] as number) >>> (i & 7)) & 1) === 1
  const times = new Float64Array(count)
  let markedAt = (times[0] = header.newestAt)
  for (let i = 1; i < count; i++) times[i] = markedAt -= readVarint(reader) * unit
  const counts = [0, 0, 0]
  if (typeof kinds === 'number') counts[kinds] = count
  else for (let i = 0; i < count; i++) counts[kindAt(kinds, i)] = (counts[kindAt(kinds, i)] ?? 0) + 1
  const columns = readIdColumns(reader, counts)
  // The checksum fits, so only a bug of the writer leads here.
  if (reader.at !== block.length || markedAt !== header.oldestAt || counts.length > 3) throw damaged('its columns do not fill it')
  return { count, times, isDislike, kinds, columns }
}

function take(reader: ByteReader, length: number): Buffer {
  reader.at += length
  return reader.bytes.subarray(reader.at - length, reader.at)
}

function openBlock(block: Buffer): { header: BlockHeader; unit: number; kindBits: number; reader: ByteReader } {
  const first = block[0] ?? 0
  if (block.length <= CHECKED_FROM || (first & 0xf0) !== MAGIC) throw damaged(`its ${block.length} bytes do not begin like a block`)
  if (block.readUInt32BE(1) !== checksum(block)) throw damaged('its checksum does not match')
  const format = first & 0x0f
  if (format !== FORMAT) {
    const message = `a block of marks has format ${format}, and this version reads format ${FORMAT}: run the version that wrote it`
    throw new TidemarkError('DATA_INCOMPATIBLE', message)
  }
  const reader: ByteReader = { bytes: block, at: CHECKED_FROM + 1 }
  const likes = readVarint(reader)
  const dislikes = readVarint(reader)
  const newestAt = readVarint(reader)
  const unit = readVarint(reader)
  const oldestAt = newestAt - readVarint(reader) * unit
  const kindBits = block[CHECKED_FROM] as number
  // An entry takes at least one byte.
  if (likes + dislikes === 0 || likes + dislikes > block.length || kindBits === 0 || kindBits > 7) throw damaged('its header is impossible')
  return { header: { format, likes, dislikes, newestAt, oldestAt }, unit, kindBits, reader }
}

function damaged(reason: string): TidemarkError {
  return new TidemarkError('DATA_DAMAGED', `a block of marks is damaged, ${reason}: restore it from a backup of the record store`)
}
