/** The places of viewers in the lists of likers that they ask for. */
import type { MarkEntry, MarkKey, MarkRecord, Subject, ViewerId } from '../../../core/domain.ts'
import { noteLack, saysDown, type Degraded, type MayLack } from '../../../core/outage/degraded.ts'
import { getMarkMany, type MarkSources } from '../../../loaders/marks.ts'
import type { MarkStore } from '../stores/hot-store.ts'
import type { MarkRecords } from '../stores/record-store.ts'

export type OwnPlaceSources = {
  hot: Pick<MarkStore, 'getMarkMany' | 'readDirtyMarks'>
  fills: MarkSources['fills']
  records: Pick<MarkRecords, 'getMarkMany'>
  mayLack?: MayLack
}

/**
 * How a viewer stands in a list: his place, or null if he is in none. Undefined: nobody asked, or the store that could tell is
 * down, and the list is as everybody sees it.
 */
export type OwnPlace = MarkEntry | null | undefined
/** In order, of each page's viewer. */
export async function readOwnPlaces(
  { hot, fills, records, mayLack }: OwnPlaceSources,
  asked: readonly { subject: Subject; viewer: ViewerId | undefined }[],
  degraded: Degraded,
): Promise<OwnPlace[]> {
  const owns: OwnPlace[] = asked.map(() => undefined)
  const keys = asked.flatMap(({ subject, viewer }, at) => (viewer === undefined ? [] : [{ at, viewer, ...subject }]))
  if (keys.length === 0) return owns
  noteLack(new Set(keys.map(({ viewer }) => viewer)), mayLack, degraded)
  const without: Degraded = new Set()
  const shown = await getMarkMany({ hot, fills, records }, keys, without)
  for (const store of without) degraded.add(store)
  keys.forEach(({ at }, index) => (owns[at] = shown[index] == null ? undefined : null))
  const liked = keys.filter((_, index) => shown[index]?.mark === 'LIKE')
  const stored = await storedAt(hot, records, liked, without.has('hotStore'), degraded)
  liked.forEach(({ at, viewer }, index) => (owns[at] = stored === undefined ? undefined : placeOf(viewer, stored[index])))
  return owns
}

/** What the hot store has left is in the record store by then. Undefined if one of them that is needed is down: then the list is as everybody sees it. */
async function storedAt(
  hot: OwnPlaceSources['hot'],
  records: OwnPlaceSources['records'],
  keys: readonly MarkKey[],
  isHotDown: boolean,
  degraded: Degraded,
): Promise<(MarkRecord | undefined)[] | undefined> {
  if (keys.length === 0) return []
  try {
    const held = isHotDown ? [] : await hot.readDirtyMarks(keys)
    const found = keys.map((_, index) => held[index]?.record)
    const missed = [...keys.keys()].filter((index) => found[index] === undefined)
    if (missed.length === 0) return found
    const rows = await records.getMarkMany(missed.map((index) => keys[index] as MarkKey))
    missed.forEach((index, place) => (found[index] = rows[place]))
    return found
  } catch (error) {
    const store = (['hotStore', 'recordStore'] as const).find((each) => saysDown(error, each))
    if (store === undefined) throw error
    degraded.add(store)
    return undefined
  }
}

function placeOf(viewer: ViewerId, record: MarkRecord | undefined): MarkEntry | null {
  return record?.mark === 'LIKE' ? { id: viewer, markedAt: record.markedAt } : null
}
