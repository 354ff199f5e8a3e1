/**
 * One page of a viewer's history, without a seam between the hot store and the record store.
 *
 * The hot store is read first. The record store is read for the rest, only if the timeline was truncated and the page runs past its floor;
 * nothing is written back. The rows are then looked up like any key. A row counts if its record still has the listed time. Other rows have
 * moved (watched again) or are gone (deleted, cleared).
 *
 * The order of reads matters: an entry is trimmed from the hot store only after it is in the record store. The second read therefore finds
 * entries trimmed before the first read. Entries trimmed in between are found twice and kept once. The lookup comes last, because a listed
 * row may be outdated:
 *
 * 1. The row is listed. The viewer has watched again, and only the hot store has that visit.
 * 2. The new record is persisted and trimmed, or cleared.
 * 3. The hot store has no record, but the listed row is outdated.
 *
 * A subject watched again between the reads would be in neither:
 *
 * 1. The hot store is read; the subject is below its floor.
 * 2. The viewer watches it again.
 * 3. Its row, if listed, is outdated.
 *
 * The hot store is therefore read once more at the end: the subject is at its top.
 *
 * If the hot store is down, the page has the persisted entries of the record store, with the same cursors. If the record store is down, the
 * page ends at the floor and reports more entries: a client that continues after its last entry gets the rest later. If both are down, the
 * page is empty, and its cursor stays valid.
 */
import { complete, type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Place, TimelineEntry, ViewerId } from '../../../core/domain.ts'
import { comparePlaces } from '../model/places.ts'
import { getProgressMany } from '../../../loaders/progress.ts'
import type { HotPage, HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

export type TimelinePage = { entries: TimelineEntry[]; hasNextPage: boolean }

/** At most `first` entries strictly after `before`, newest first. A store that is down is named in the collector. */
export async function readTimeline(
  hot: HotStore,
  records: RecordStore,
  viewer: ViewerId,
  businesses: readonly BusinessNumber[],
  before: Place | undefined,
  first: number,
  degraded: Degraded,
): Promise<TimelinePage> {
  try {
    return await readBoth(hot, records, viewer, businesses, before, first, degraded)
  } catch (error) {
    noteOrThrow(error, 'hotStore', degraded)
    return readRecords(records, viewer, businesses, before, first).catch((failure: unknown) => {
      noteOrThrow(failure, 'recordStore', degraded)
      return { entries: [], hasNextPage: false }
    })
  }
}

async function readBoth(
  hot: HotStore,
  records: RecordStore,
  viewer: ViewerId,
  businesses: readonly BusinessNumber[],
  before: Place | undefined,
  first: number,
  degraded: Degraded,
): Promise<TimelinePage> {
  const wanted = first + 1
  const page = await hot.listTimeline(viewer, businesses, before, wanted)
  const last = page.entries.length === wanted ? placeOf(page.entries[wanted - 1] as TimelineEntry) : undefined
  const entries = new Map(page.entries.map((entry) => [subjectText(entry), entry]))
  let isCut = false
  let isRead = false
  for (const truncated of page.truncated) {
    if (last !== undefined && comparePlaces(last, truncated.floor) < 0) continue
    try {
      for (const entry of await readOlder(hot, records, viewer, truncated, before, wanted)) {
        if (!entries.has(subjectText(entry))) entries.set(subjectText(entry), entry)
      }
      isRead = true
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      isCut = true
    }
  }
  if (isCut) return cutAtFloors(page, before, first)
  if (!isRead) return { entries: page.entries.slice(0, first), hasNextPage: page.entries.length > first }
  for (const entry of (await hot.listTimeline(viewer, businesses, before, wanted)).entries) entries.set(subjectText(entry), entry)
  const sorted = [...entries.values()].sort((a, b) => comparePlaces(placeOf(a), placeOf(b)))
  return { entries: sorted.slice(0, first), hasNextPage: sorted.length > first }
}

/**
 * The entries of the hot store alone, up to the first floor. Beyond it, older neighbours may be missing, and a cursor after it would skip
 * them for good. Past the floor, a page is empty and ends the list, so that clients do not ask for ever. The same cursor finds the rest
 * later.
 */
function cutAtFloors(page: HotPage, before: Place | undefined, first: number): TimelinePage {
  const whole = page.entries.filter((entry) => page.truncated.every(({ floor }) => comparePlaces(placeOf(entry), floor) < 0))
  if (whole.length > 0) return { entries: whole.slice(0, first), hasNextPage: true }
  return { entries: before === undefined ? page.entries.slice(0, first) : [], hasNextPage: false }
}

/** The page from the record store alone. */
async function readRecords(
  records: RecordStore,
  viewer: ViewerId,
  businesses: readonly BusinessNumber[],
  before: Place | undefined,
  first: number,
): Promise<TimelinePage> {
  const [settings] = await records.getSettingsMany([viewer])
  const entries: TimelineEntry[] = []
  for (let after = before; ;) {
    const rows = await records.listProgress(viewer, businesses, after, first + 1)
    entries.push(...rows.filter((row) => row.record.viewedAt > (settings?.clearedAt[row.business] ?? 0)))
    const lastRow = rows[rows.length - 1]
    if (entries.length > first || rows.length <= first || lastRow === undefined) break
    after = placeOf(lastRow)
  }
  return { entries: entries.slice(0, first), hasNextPage: entries.length > first }
}

/** Up to `wanted` entries of one business that only the record store has, from the floor on. */
async function readOlder(
  hot: HotStore,
  records: RecordStore,
  viewer: ViewerId,
  truncated: HotPage['truncated'][number],
  before: Place | undefined,
  wanted: number,
): Promise<TimelineEntry[]> {
  const found: TimelineEntry[] = []
  let after = startAt(truncated.floor, before)
  for (;;) {
    const rows = await records.listProgress(viewer, [truncated.business], after, wanted)
    const visible = rows.filter((row) => row.record.viewedAt > truncated.clearedAt)
    const keys = visible.map(({ business, oid }) => ({ viewer, business, oid }))
    const current = keys.length > 0 ? await complete((without) => getProgressMany(hot, records, keys, without)) : []
    visible.forEach(({ business, oid, record: listed }, index) => {
      const record = current[index]
      if (record?.viewedAt === listed.viewedAt) found.push({ business, oid, record })
    })
    const lastRow = rows[rows.length - 1]
    if (found.length >= wanted || rows.length < wanted || visible.length < rows.length || lastRow === undefined)
      return found.slice(0, wanted)
    after = placeOf(lastRow)
  }
}

/** The start of the record store's part: after `before`, and no earlier than the moment of the floor. */
function startAt(floor: Place, before: Place | undefined): Place {
  // No business has number 0, so this place comes before every entry of its moment, and the floor itself is included.
  const aboveFloor = { viewedAt: floor.viewedAt, business: 0, oid: '0' }
  return before !== undefined && comparePlaces(before, aboveFloor) > 0 ? before : aboveFloor
}

export function placeOf(entry: TimelineEntry): Place {
  return { viewedAt: entry.record.viewedAt, business: entry.business, oid: entry.oid }
}

function subjectText(entry: TimelineEntry): string {
  return `${entry.business}:${entry.oid}`
}
