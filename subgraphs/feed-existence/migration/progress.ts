/**
 * How the existing ports keep a migration, without any change to the stores:
 *
 * - **Listed**: a viewer to be migrated has a staged play of business 0, which no business has. Its id is the number of the business to
 *   migrate. The viewer is thereby in the ring, in the same step as for any play. Readers ask for real businesses, so they never see it.
 *   When it leaves staging, `folds` grows, which invalidates the viewer's cached filters.
 * - **Migrated**: a mark is stored among the viewer's filters, in month 0, which is always over. It is written after the filters, under the
 *   same version check. A reader that reads the mark before the filters therefore gets filters with all migrated plays.
 * - **No longer migrated**: a damaged filter is rebuilt without the plays that only the legacy store knows. Before that, the viewer is
 *   listed again and the mark is emptied, even if there is none. A reader or fold that finds the same version of the mark before and after
 *   its work has therefore finished before the rebuild.
 *
 *     a mark   'M' · format (2) · CRC-32 of all other bytes, big endian · varint businesses, then for each: varint number, folded plays,
 *              plays of times outside the months in use, members that are not ids
 *              an emptied mark also has the lost plays: varint businesses, then for each: varint number, folded plays
 */
import { crc32 } from 'node:zlib'
import type { SeenRecords } from '../stores/record-store.ts'
import type { BusinessNumber, Month, Play, ViewerId } from '../../../core/domain.ts'
import type { TidemarkError } from '../../../core/errors.ts'
import { ATTEMPTS_MAX, outrun } from '../fold/filter-changes.ts'
import { VARINT_BYTES_MAX, readVarint, writeVarint } from '../../../core/varint.ts'

export const MARK_MONTH: Month = 0
/** The business of a viewer's listings. Their ids are the businesses to migrate. */
export const LISTED: BusinessNumber = 0
const MAGIC = 0x4d
const FORMAT = 2
const CHECKED_FROM = 6

/** The members of a set, by outcome. */
export type Moved = { plays: number; outside: number; invalid: number }
export type MigrationMark = ReadonlyMap<BusinessNumber, Moved>

export const NOT_MIGRATED: MigrationMark = new Map()

/** Per business, the number of plays folded in before the viewer had to be migrated again. */
export type LostPlays = ReadonlyMap<BusinessNumber, number>
const NOTHING_LOST: LostPlays = new Map()

export function listingOf(viewer: ViewerId, business: BusinessNumber, now: number): Play {
  return { viewer, business: LISTED, oid: String(business), playedAt: now }
}

export function isListing({ business }: { business: BusinessNumber }): boolean {
  return business === LISTED
}

/** The business to migrate. */
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

/** An unreadable mark counts as not migrated: the legacy store is then read and folded in again. */
export function decodeMark(bytes: Buffer | undefined): MigrationMark {
  return read(bytes)?.mark ?? NOT_MIGRATED
}

/** Bytes that are not a mark were damaged. */
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
  // A mark without lost plays has no such section, so a count of 0 is invalid.
  const lostOnes = reader.at < bytes.length ? readVarint(reader) : undefined
  while (lost.size < (lostOnes ?? 0) && reader.at < bytes.length) lost.set(readVarint(reader), readVarint(reader))
  const isWhole = reader.at === bytes.length && mark.size === marked && lostOnes !== 0 && lost.size === (lostOnes ?? 0)
  return isWhole ? { mark, lost } : undefined
}

function checksumOf(bytes: Buffer): number {
  return crc32(bytes.subarray(CHECKED_FROM), crc32(bytes.subarray(0, 2)))
}

/**
 * Empties a viewer's mark, even if it is empty, which changes its version. `before` gets the old content first. The number of its plays is
 * kept in the mark until the viewer has been migrated again. If there is no mark, one is written only if `writesFirst` is set: viewers may
 * be migrated here.
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
  return outrun(`the migration mark of viewer "${viewer}"`)
}
