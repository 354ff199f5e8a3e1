/**
 * One page of a viewer's likes in a business, across the hot store and the record store. The reasons are those of history's timeline
 * (`subgraphs/history/read/timeline.ts`).
 *
 * The hot store is read first, and the record store only past the hot store's floor. An entry that leaves the hot store between the reads
 * is found at least once, and kept once. A listed row may be outdated: it counts only if the subject still has that place in the hot store,
 * or else in the record store after a second read. A subject liked again between the reads moves to the top, so the hot store is read once
 * more.
 *
 * With the hot store down, the page is the record store's. With the record store down, the page ends at the floor and reports a next page.
 */
import { noteLack, type Degraded, type MayLack, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, MarkEntry, MarkKey, MarkPlace, MarkRecord, ViewerId } from '../../../core/domain.ts'
import type { Fills } from '../../../loaders/mark-fills.ts'
import { placeAtOrBefore, compareMarkPlaces } from '../model/places.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { HotLikes, MarkStore } from '../stores/hot-store.ts'

export type MarkPage = { entries: MarkEntry[]; hasNextPage: boolean }

export type LikesSources = {
  hot: Pick<MarkStore, 'listLikes' | 'readDirtyMarks'>
  records: Pick<MarkRecords, 'listMarks' | 'getMarkMany'>
  fills: Pick<Fills, 'bring'>
  mayLack?: MayLack
}

/** At most `first` likes strictly after `before`, newest first. Null if no store answers. */
export async function readLikes(
  sources: LikesSources,
  viewer: ViewerId,
  business: BusinessNumber,
  before: MarkPlace | undefined,
  first: number,
  degraded: Degraded,
): Promise<MarkPage | null> {
  noteLack([{ viewer }], sources.mayLack, degraded)
  try {
    return await readBoth(sources, viewer, business, before, first, degraded)
  } catch (error) {
    noteOrThrow(error, 'hotStore', degraded)
    return readRecords(sources, viewer, business, before, first, degraded)
  }
}

async function readBoth(
  sources: LikesSources,
  viewer: ViewerId,
  business: BusinessNumber,
  before: MarkPlace | undefined,
  first: number,
  degraded: Degraded,
): Promise<MarkPage | null> {
  const wanted = first + 1
  const page = await listHot(sources, viewer, business, before, wanted, degraded)
  const last = page.entries.length === wanted ? page.entries[wanted - 1] : undefined
  const isFull = last !== undefined && page.floor !== undefined && page.floor !== null && compareMarkPlaces(last, page.floor) < 0
  if (page.floor === undefined || isFull) return pageOf(page.entries, first)
  let older: MarkEntry[]
  try {
    older = await listOlder(sources, viewer, business, startAt(page.floor, before), wanted)
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return cutAtFloor(page, before, first)
  }
  const again = await sources.hot.listLikes(viewer, business, before, wanted)
  const entries = new Map([...older, ...page.entries, ...again.entries].map((entry) => [entry.id, entry]))
  return pageOf([...entries.values()].sort(compareMarkPlaces), first)
}

/** The hot store knows nothing yet about a viewer with unknown marks. */
async function listHot(
  { hot, fills }: LikesSources,
  viewer: ViewerId,
  business: BusinessNumber,
  before: MarkPlace | undefined,
  wanted: number,
  degraded: Degraded,
): Promise<HotLikes> {
  const page = await hot.listLikes(viewer, business, before, wanted)
  if (page.floor !== null) return page
  try {
    await fills.bring({ viewer, business })
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return page
  }
  return hot.listLikes(viewer, business, before, wanted)
}

/** Up to `wanted` likes that the record store lists after this place and that still have that place. */
async function listOlder(
  sources: LikesSources,
  viewer: ViewerId,
  business: BusinessNumber,
  start: MarkPlace | undefined,
  wanted: number,
): Promise<MarkEntry[]> {
  const found: MarkEntry[] = []
  for (let after = start; ;) {
    const rows = await sources.records.listMarks(viewer, business, ['LIKE'], after, wanted)
    const current = await currentOf(
      sources,
      rows.map(({ oid }) => ({ viewer, business, oid })),
    )
    rows.forEach(({ oid, markedAt }, index) => {
      const record = current[index]
      if (record?.mark === 'LIKE' && record.markedAt === markedAt) found.push({ id: oid, markedAt })
    })
    const lastRow = rows[rows.length - 1]
    if (found.length >= wanted || rows.length < wanted || lastRow === undefined) return found.slice(0, wanted)
    after = { id: lastRow.oid, markedAt: lastRow.markedAt }
  }
}

/** The marks as the hot store holds them, or else as the record store has them after that read. */
async function currentOf({ hot, records }: LikesSources, keys: readonly MarkKey[]): Promise<(MarkRecord | undefined)[]> {
  if (keys.length === 0) return []
  const current = (await hot.readDirtyMarks(keys)).map(({ record }) => record)
  const missed = current.flatMap((record, place) => (record === undefined ? [place] : []))
  if (missed.length === 0) return current
  const rows = await records.getMarkMany(missed.map((place) => keys[place] as MarkKey))
  missed.forEach((place, index) => (current[place] = rows[index]))
  return current
}

/** The start of the record store's part: after `before`, and not before the floor. */
function startAt(floor: MarkPlace | null, before: MarkPlace | undefined): MarkPlace | undefined {
  if (floor === null) return before
  const atFloor = placeAtOrBefore(floor.markedAt)
  return before !== undefined && compareMarkPlaces(before, atFloor) > 0 ? before : atFloor
}

/**
 * The hot store's part alone, up to its floor. Past the floor entries may be missing, and a cursor there would skip them for good. Such a
 * page is empty and ends the list. The same cursor finds the rest later.
 */
function cutAtFloor({ entries, floor }: HotLikes, before: MarkPlace | undefined, first: number): MarkPage | null {
  const whole = floor == null ? [] : entries.filter((entry) => compareMarkPlaces(entry, floor) < 0)
  if (whole.length > 0) return { entries: whole.slice(0, first), hasNextPage: true }
  return before === undefined && entries.length === 0
    ? null
    : { entries: before === undefined ? entries.slice(0, first) : [], hasNextPage: false }
}

/** The page from the record store alone. */
async function readRecords(
  { records }: LikesSources,
  viewer: ViewerId,
  business: BusinessNumber,
  before: MarkPlace | undefined,
  first: number,
  degraded: Degraded,
): Promise<MarkPage | null> {
  try {
    const rows = await records.listMarks(viewer, business, ['LIKE'], before, first + 1)
    return pageOf(
      rows.map(({ oid, markedAt }) => ({ id: oid, markedAt })),
      first,
    )
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return null
  }
}

export function pageOf(entries: readonly MarkEntry[], first: number): MarkPage {
  return { entries: entries.slice(0, first), hasNextPage: entries.length > first }
}
