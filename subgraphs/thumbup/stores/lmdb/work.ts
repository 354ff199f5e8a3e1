/**
 * The work of one call to the mark store: its shelves (a viewer's marks in a business), their states, read once, and the version counter.
 * It lives as long as the call's transaction. `settleMarks` writes back the changes.
 *
 * The version counter is also the clock of `asOf`, so each mark that leaves the store moves it. A fill that began earlier must find a
 * `leftAt` above its own moment, even without a write in between.
 */
import type { BusinessNumber, MarkKey, MarkPlace, ViewerId } from '../../../../core/domain.ts'
import { regionOf } from '../../../../core/regions.ts'
import { beginVersions, nextVersion, settleVersions, type VersionCounter } from '../../../../stores/lmdb/version-counter.ts'
import { dirtyMark } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { DISLIKES, LIKES, listKey, listRange, placeOfListKey, type ListKind } from './keys.ts'
import { decodeHeldMark, decodeMarkState, encodeHeldMark, encodeMarkState, type HeldMark, type MarkState } from './values.ts'
import { STATS, makeShelf, plainKey, recordKey, type Shelf } from '../../../../stores/lmdb/viewer-keys.ts'
import { compareMarkPlaces } from '../../model/places.ts'

export type MarkTables = {
  /** States, marks and lists, viewer by viewer. */
  marks: Bytes
  /** Keys that wait to be persisted, by the time of their first change (`dirty-marks.ts`). */
  dirty: Bytes
  /** Clean tombstones by `markedAt`, under keys of the same form. */
  undone: Bytes
  counters: Bytes
}

/** `stored` is false until the state is first written. Each shelf with a mark has a state. */
export type MarkShelf = Shelf & { viewer: ViewerId; region: number; state: MarkState; stateChanged: boolean; stored: boolean }

export type MarkWork = {
  tables: MarkTables
  regions: number
  shelves: Map<ViewerId, MarkShelf[]>
  versions: VersionCounter
}

const NOTHING = Buffer.allocUnsafeSlow(0)

export function openMarkTables(environment: Environment): MarkTables {
  return {
    marks: environment.table('hot-marks'),
    dirty: environment.table('hot-mark-dirty'),
    undone: environment.table('hot-mark-undone'),
    counters: environment.table('hot-mark-counters'),
  }
}

export function beginMarks(tables: MarkTables, regions: number): MarkWork {
  return { tables, regions, shelves: new Map(), versions: beginVersions(tables.counters) }
}

export function markShelf(work: MarkWork, { viewer, business }: { viewer: ViewerId; business: BusinessNumber }): MarkShelf {
  const shelves = work.shelves.get(viewer) ?? []
  const known = shelves.find((shelf) => shelf.business === business)
  if (known !== undefined) return known
  const shelf = makeShelf(viewer, business)
  const value = work.tables.marks.getBinaryFast(plainKey(shelf, STATS))
  const state =
    value === undefined ? { known: false, floor: undefined, likes: 0, dislikes: 0, droppedUntil: -1, leftAt: 0 } : decodeMarkState(value)
  const region = regionOf(viewer, work.regions)
  const made: MarkShelf = { ...shelf, viewer, region, state, stateChanged: false, stored: value !== undefined }
  shelves.push(made)
  work.shelves.set(viewer, shelves)
  return made
}

export function readMark(work: MarkWork, shelf: MarkShelf, oid: string): HeldMark | undefined {
  const value = work.tables.marks.getBinaryFast(recordKey(shelf, oid))
  return value === undefined ? undefined : decodeHeldMark(value, value.length)
}

/** Stores `next` in place of `held` (undefined: none), and updates lists, dirty marks and tombstones. */
export function replaceMark(work: MarkWork, shelf: MarkShelf, oid: string, held: HeldMark | undefined, next: HeldMark | undefined): void {
  const { marks, dirty, undone } = work.tables
  if (next === undefined) void marks.remove(recordKey(shelf, oid))
  else void marks.put(recordKey(shelf, oid), encodeHeldMark(next))
  moveInList(work, shelf, oid, held, next)
  const key: MarkKey = { viewer: shelf.viewer, business: shelf.business, oid }
  moveInIndex(dirty, shelf.region, key, held?.dirtySince || undefined, next?.dirtySince || undefined)
  moveInIndex(undone, shelf.region, key, undoneAt(held), undoneAt(next))
  if (!shelf.stored) shelf.stateChanged = true
}

function moveInList(work: MarkWork, shelf: MarkShelf, oid: string, held: HeldMark | undefined, next: HeldMark | undefined): void {
  const [before, after] = [listOf(held), listOf(next)]
  if (before === after && held?.record.markedAt === next?.record.markedAt) return
  if (before !== undefined && held !== undefined) {
    void work.tables.marks.remove(listKey(shelf, before, { id: oid, markedAt: held.record.markedAt }))
    countListed(shelf, before, -1)
  }
  if (after !== undefined && next !== undefined) {
    void work.tables.marks.put(listKey(shelf, after, { id: oid, markedAt: next.record.markedAt }), NOTHING)
    countListed(shelf, after, 1)
  }
}

function listOf(held: HeldMark | undefined): ListKind | undefined {
  if (held === undefined || held.record.mark === 'NONE') return undefined
  return held.record.mark === 'LIKE' ? LIKES : DISLIKES
}

function countListed(shelf: MarkShelf, kind: ListKind, added: number): void {
  shelf.state[kind === LIKES ? 'likes' : 'dislikes'] += added
  shelf.stateChanged = true
}

function undoneAt(held: HeldMark | undefined): number | undefined {
  return held === undefined || held.dirtySince > 0 || held.record.mark !== 'NONE' ? undefined : held.record.markedAt
}

function moveInIndex(index: Bytes, region: number, key: MarkKey, from: number | undefined, to: number | undefined): void {
  if (from === to) return
  if (from !== undefined) void index.remove(dirtyMark(from, region, key))
  if (to !== undefined) void index.put(dirtyMark(to, region, key), NOTHING)
}

/** Removes a clean mark, and notes that a mark left. */
export function dropMark(work: MarkWork, shelf: MarkShelf, oid: string, held: HeldMark): void {
  replaceMark(work, shelf, oid, held, undefined)
  shelf.state.droppedUntil = Math.max(shelf.state.droppedUntil, held.record.markedAt)
  shelf.state.leftAt = nextVersion(work.versions, 0, 0)
  shelf.stateChanged = true
}

/**
 * Drops clean marks from the oldest end of each list until `cap` are left. It stops at the first dirty mark, which the persist step has yet
 * to read. Everything above the floor is therefore here.
 */
export function trimMarks(work: MarkWork, shelf: MarkShelf, cap: number): void {
  for (const [kind, length] of [
    [LIKES, shelf.state.likes],
    [DISLIKES, shelf.state.dislikes],
  ] as const) {
    if (length <= cap) continue
    for (const place of oldestPlaces(work, shelf, kind, length - cap)) {
      const held = readMark(work, shelf, place.id)
      if (held === undefined || held.dirtySince > 0) break
      dropMark(work, shelf, place.id, held)
      const { known, floor } = shelf.state
      if (known && (floor === undefined || compareMarkPlaces(place, floor) < 0)) shelf.state.floor = place
    }
  }
}

function oldestPlaces(work: MarkWork, shelf: MarkShelf, kind: ListKind, limit: number): MarkPlace[] {
  const { start, end } = listRange(shelf, kind)
  return Array.from(work.tables.marks.getKeys({ start: end, end: start, reverse: true, limit }), (key) => placeOfListKey(shelf, key))
}

/** Writes back the states and the counter. A writing call does this last in its transaction. */
export function settleMarks(work: MarkWork): void {
  for (const shelves of work.shelves.values()) {
    for (const shelf of shelves) {
      if (shelf.stateChanged) void work.tables.marks.put(plainKey(shelf, STATS), encodeMarkState(shelf.state))
    }
  }
  settleVersions(work.versions)
}
