/**
 * Point lookups of marks: one multi-get of the hot store. If a viewer's marks are complete there, a miss is an answer. Unknown marks are
 * filled first. Misses in truncated marks are read from the record store in one bounded batch.
 *
 * The hot store comes first: a mark is persisted before it leaves the hot store, so the second read finds marks that the first missed.
 *
 * If the hot store is down, the record store answers alone, without unpersisted changes. If the record store is down, marks that only it
 * has are null. The lookup returns the partial answer and names the missing store in the collector.
 */
import { saysDown, type Degraded, noteOrThrow } from '../core/outage/degraded.ts'
import type { Mark, MarkKey } from '../core/domain.ts'
import { distinctOwners, viewerBusinessText, type Fills } from './mark-fills.ts'
import { concernsSomeOnly } from '../core/outage/part-outage.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import type { HotMark, MarkStore } from '../subgraphs/thumbup/stores/hot-store.ts'

/** The viewer's mark, and the mark in the public counts. */
export type ShownMark = Pick<HotMark, 'mark' | 'counted' | 'pending' | 'undone'>

/**
 * Viewers that one lookup fills; the marks of others are looked up without a fill. One lookup serves many requests. If it filled none when
 * many are unknown, all would stay unknown as long as the load lasts, and each read would go to the record store.
 */
const FILLS_MAX = 8

const NOBODY: ReadonlySet<string> = new Set()

export type MarkSources = { hot: Pick<MarkStore, 'getMarkMany'>; records: Pick<MarkRecords, 'getMarkMany'>; fills: Pick<Fills, 'bring'> }

/**
 * In key order; null if no available store knows. It rejects only if the hot store is down for some of several viewers: read these
 * separately (`apartIfPartIsOut`).
 */
export async function getMarkMany(sources: MarkSources, keys: readonly MarkKey[], degraded: Degraded): Promise<(ShownMark | null)[]> {
  try {
    return await lookUp(sources, keys, degraded)
  } catch (error) {
    if (!saysDown(error, 'hotStore') || concernsSomeOnly(error, keys)) throw error
    degraded.add('hotStore')
    return lookUpInRecords(sources, keys, degraded)
  }
}

async function lookUp(sources: MarkSources, keys: readonly MarkKey[], degraded: Degraded): Promise<(ShownMark | null)[]> {
  const { hot } = sources
  const held = await hot.getMarkMany(keys)
  if (held.every(({ older }) => older === undefined)) return held
  const filled = await fillUnknown(sources, keys, held, degraded)
  if (filled.size > 0) {
    const places = [...keys.keys()].filter(
      (place) => held[place]?.older === 'unknown' && filled.has(viewerBusinessText(keys[place] as MarkKey)),
    )
    const again = await hot.getMarkMany(places.map((place) => keys[place] as MarkKey))
    places.forEach((place, index) => (held[place] = again[index] as HotMark))
  }
  const found: (ShownMark | null)[] = held
  const missed = placesOf(held, ({ older }) => older !== undefined)
  if (missed.length === 0) return found
  const older = await lookUpInRecords(
    sources,
    missed.map((place) => keys[place] as MarkKey),
    degraded,
  )
  missed.forEach((place, index) => (found[place] = older[index] as ShownMark | null))
  return found
}

/** The viewers whose marks are in the hot store now; none if there was nothing to fill, or no record store to fill from. */
async function fillUnknown(
  { fills }: MarkSources,
  keys: readonly MarkKey[],
  held: readonly HotMark[],
  degraded: Degraded,
): Promise<ReadonlySet<string>> {
  const unknown = distinctOwners(keys.filter((_, place) => held[place]?.older === 'unknown')).slice(0, FILLS_MAX)
  try {
    await Promise.all(unknown.map((of) => fills.bring(of)))
    return new Set(unknown.map(viewerBusinessText))
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return NOBODY
  }
}

function placesOf(held: readonly HotMark[], isOne: (mark: HotMark) => boolean): number[] {
  return held.flatMap((mark, place) => (isOne(mark) ? [place] : []))
}

/** The marks of the record store alone. */
async function lookUpInRecords({ records }: MarkSources, keys: readonly MarkKey[], degraded: Degraded): Promise<(ShownMark | null)[]> {
  try {
    const rows = await records.getMarkMany(keys)
    return rows.map((row) => shownOf(row?.mark))
  } catch (error) {
    noteOrThrow(error, 'recordStore', degraded)
    return keys.map(() => null)
  }
}

function shownOf(mark: Mark | undefined): ShownMark {
  if (mark === 'NONE') return { mark, counted: mark, pending: false, undone: true }
  return { mark: mark ?? 'NONE', counted: mark ?? 'NONE', pending: false }
}
