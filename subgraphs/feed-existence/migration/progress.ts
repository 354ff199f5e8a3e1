/**
 * How a migration is kept in the ports that there are, so that stores know nothing of it:
 *
 * - **Listed**: a viewer who is to be migrated has a play staged of business 0, which no business is, whose id is the number of
 *   the business that is meant. So he is in the ring, in the one step in which plays get there; no reader is shown it, since
 *   readers ask for businesses; and when it leaves staging `folds` grows, which ends what readers keep of him.
 * - **Migrated**: a mark stands among his filters, in month 0, which is over. It is written after the filters, under the
 *   same version check. Whoever reads it before the filters therefore has filters that hold all that was folded.
 * - **Not any more**: a damaged filter is made anew without what only the legacy store knows. So the viewer is listed again and his
 *   mark emptied before that, also where there is none: whoever finds the same version of it after he has read the filters, or has
 *   folded into them, has done so before they were made anew.
 *
 *     a mark   'M' · format (2) · CRC-32 of all other bytes, big endian · varint businesses, then each: varint number, plays folded, plays of times that count no more,
 *              members that are no ids; and where it was emptied, what it lost: varint businesses, then each: varint number, plays folded
 */
import { crc32 } from 'node:zlib'
import type { SeenRecords } from '../stores/record-store.ts'
import type { BusinessNumber, Month, Play, ViewerId } from '../../../core/domain.ts'
import type { TidemarkError } from '../../../core/errors.ts'
import { ATTEMPTS_MAX, outrun } from '../fold/filter-changes.ts'
import { VARINT_BYTES_MAX, readVarint, writeVarint } from '../../../core/varint.ts'

export const MARK_MONTH: Month = 0
/** What a viewer has staged of this business are the businesses that he is to be moved of. */
export const LISTED: BusinessNumber = 0
const MAGIC = 0x4d
const FORMAT = 2
const CHECKED_FROM = 6

/** What was found in a set. */
export type Moved = { plays: number; outside: number; invalid: number }
export type MigrationMark = ReadonlyMap<BusinessNumber, Moved>

export const NOT_MIGRATED: MigrationMark = new Map()

/** How many plays of a business had been folded in, of a viewer who has to be moved once more. */
export type LostPlays = ReadonlyMap<BusinessNumber, number>
const NOTHING_LOST: LostPlays = new Map()

export function listingOf(viewer: ViewerId, business: BusinessNumber, now: number): Play {
  return { viewer, business: LISTED, oid: String(business), playedAt: now }
}

export function isListing({ business }: { business: BusinessNumber }): boolean {
  return business === LISTED
}

/** The business that a listing means. */
export function listedBusiness({ oid }: { oid: string }): BusinessNumber {
  return Number(oid)
}

export function encodeMark(mark: MigrationMark, lost = NOTHING_LOST): Buffer {
  const bytes = Buffer.alloc(CHECKED_FROM + VARINT_BYTES_MAX * (2 + mark.size * 4 + lost.size * 2))
  bytes[0] = MAGIC
  bytes[1] = FORMAT
  let end = writeVarint(mark.size, bytes, CHECKED_FROM)
  for (const [business, { plays, outside, invalid }] of mark)
    for (const value of [business, plays, outside, invalid]) end = writeVarint(value, bytes, end)
  if (lost.size > 0) end = writeVarint(lost.size, bytes, end)
  for (const [business, plays] of lost) end = writeVarint(plays, bytes, writeVarint(business, bytes, end))
  const encoded = Buffer.from(bytes.subarray(0, end))
  encoded.writeUInt32BE(checksumOf(encoded), 2)
  return encoded
}

/** What cannot be read says that nothing was migrated: then the legacy store is asked, and folded in once more. */
export function decodeMark(bytes: Buffer | undefined): MigrationMark {
  return read(bytes)?.mark ?? NOT_MIGRATED
}

/** What is there and is no mark was damaged. */
export function isMark(bytes: Buffer): boolean {
  return read(bytes) !== undefined
}

export function lostPlaysOf(bytes: Buffer | undefined): LostPlays {
  return read(bytes)?.lost ?? NOTHING_LOST
}

function read(bytes: Buffer | undefined): { mark: MigrationMark; lost: LostPlays } | undefined {
  if (bytes === undefined || bytes.length <= CHECKED_FROM || bytes[0] !== MAGIC || bytes[1] !== FORMAT) return undefined
  if (bytes.readUInt32BE(2) !== checksumOf(bytes)) return undefined
  const reader = { bytes, at: CHECKED_FROM }
  const mark = new Map<BusinessNumber, Moved>()
  const lost = new Map<BusinessNumber, number>()
  const marked = readVarint(reader)
  while (mark.size < marked && reader.at < bytes.length)
    mark.set(readVarint(reader), { plays: readVarint(reader), outside: readVarint(reader), invalid: readVarint(reader) })
  // Nobody writes that none were lost.
  const lostOnes = reader.at < bytes.length ? readVarint(reader) : undefined
  while (lost.size < (lostOnes ?? 0) && reader.at < bytes.length) lost.set(readVarint(reader), readVarint(reader))
  const isWhole = reader.at === bytes.length && mark.size === marked && lostOnes !== 0 && lost.size === (lostOnes ?? 0)
  return isWhole ? { mark, lost } : undefined
}

function checksumOf(bytes: Buffer): number {
  return crc32(bytes.subarray(CHECKED_FROM), crc32(bytes.subarray(0, 2)))
}

/**
 * Empties a viewer's mark, also if nothing stands in it: it has another version then. `before` is told what stood there, first;
 * how much that was stays in it until he has been moved once more.
 * Where there is none, one is written only if `writesFirst`: viewers may be moved here.
 */
export async function emptyMark(
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  viewer: ViewerId,
  before: (mark: MigrationMark) => Promise<void>,
  { writesFirst, expiresAt }: { writesFirst: boolean; expiresAt: number },
): Promise<void> {
  const key = { viewer, month: MARK_MONTH }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const [stored] = await records.getFilters([key])
    if (stored === undefined && !writesFirst) return
    const mark = decodeMark(stored?.filter)
    await before(mark)
    const lost = new Map([...lostPlaysOf(stored?.filter), ...Array.from(mark, ([business, { plays }]) => [business, plays] as const)])
    const write = { ...key, filter: encodeMark(NOT_MIGRATED, lost), expected: stored?.version ?? 0, expiresAt }
    if ((await records.putFilters([write]))[0] === true) return
  }
  throw markOutrun(viewer)
}

export function markOutrun(viewer: ViewerId): TidemarkError {
  return outrun(`what is known of the migration of viewer "${viewer}"`)
}
