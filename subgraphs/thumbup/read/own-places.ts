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
 * The viewer's place in a list, or null if they are not in it. Undefined if there is no viewer, or if the needed store is down; the list is
 * then the public one.
 */
export type OwnPlace = MarkEntry | null | undefined
/** In order: the place of each page's viewer. */
export async function readOwnPlaces(
  { hot, fills, records, mayLack }: OwnPlaceSources,
  asked: readonly { subject: Subject; viewer: ViewerId | undefined }[],
  degraded: Degraded,
): Promise<OwnPlace[]> {
  const owns: OwnPlace[] = asked.map(() => undefined)
  const keys = asked.flatMap(({ subject, viewer }, at) => (viewer === undefined ? [] : [{ at, viewer, ...subject }]))
  if (keys.length === 0) return owns
  noteLack(keys, mayLack, degraded)
  const without: Degraded = new Set()
  const shown = await getMarkMany({ hot, fills, records }, keys, without)
  for (const store of without) degraded.add(store)
  keys.forEach(({ at }, index) => (owns[at] = shown[index] == null ? undefined : null))
  const liked = keys.filter((_, index) => shown[index]?.mark === 'LIKE')
  const stored = await storedAt(hot, records, liked, without.has('hotStore'), degraded)
  liked.forEach(({ at, viewer }, index) => (owns[at] = stored === undefined ? undefined : placeOf(viewer, stored[index])))
  return owns
}

/**
 * A mark that leaves the hot store is in the record store by then. Undefined if a needed store is down: the list is then the public one.
 */
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
