/** The data of the model of the mark store: a shelf per viewer and business, with an entry per marked subject. */
import type { Mark, MarkKey, MarkPlace, MarkRecord } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'
import type { MarkOutcome, MarkWrite } from '../../../subgraphs/thumbup/stores/hot-store.ts'

export type MarkStoreFaults = {
  /** Reading a dirty mark makes it clean before it is persisted. */
  clearsOnRead?: boolean
  /** Clears a dirty mark regardless of the version. */
  clearsUnchecked?: boolean
  /** A fill replaces held marks. */
  fillOverwrites?: boolean
}

/** Notified of every write at the instant it happens, and of every key with an entry that may have changed in another way. */
export type MarkStoreObserver = {
  /** `isGuess`: the write did not consider the record store. */
  put(write: MarkWrite, outcome: MarkOutcome, isGuess: boolean): void
  moved(key: MarkKey): void
}

/** `dirtySince` is the time of the first change that was not persisted. */
export type Entry = { record: MarkRecord; counted: Mark; countedAt: number; dirtySince: number | undefined }
export type Shelf = {
  known: boolean
  /** The newest dropped place, or the oldest place of a fill. */
  floor: MarkPlace | undefined
  /** The latest `markedAt` that ever left. */
  droppedUntil: number
  /** The clock of the region at the last removal. */
  leftAt: number
  entries: Map<string, Entry>
}

type Owner = { viewer: string; business: number }

/** The whole state. Each function on it is one instant. */
export type Shelves = {
  regions: number
  faults: MarkStoreFaults
  observer: MarkStoreObserver | undefined
  shelves: Map<string, Owner & { shelf: Shelf }>
  clock: number
}

/** Reading creates no shelf: a missing shelf reads as an empty one. */
export function peek({ shelves }: Shelves, { viewer, business }: Owner): Shelf {
  return shelves.get(`${business}:${viewer}`)?.shelf ?? { known: false, floor: undefined, droppedUntil: -1, leftAt: 0, entries: new Map() }
}

export function shelfOf(model: Shelves, owner: Owner): Shelf {
  const shelf = peek(model, owner)
  model.shelves.set(`${owner.business}:${owner.viewer}`, { viewer: owner.viewer, business: owner.business, shelf })
  return shelf
}

export function drop(model: Shelves, shelf: Shelf, oid: string, markedAt: number): void {
  shelf.entries.delete(oid)
  shelf.droppedUntil = Math.max(shelf.droppedUntil, markedAt)
  model.clock += 1
  shelf.leftAt = model.clock
}

export function trimAll(model: Shelves, touched: Iterable<Owner>, cap: number): void {
  for (const shelf of new Set(Array.from(touched, (owner) => peek(model, owner)))) trim(model, shelf, cap)
}

export function trim(model: Shelves, shelf: Shelf, cap: number): void {
  for (const mark of ['LIKE', 'DISLIKE'] as const) {
    const places = placesOf(shelf, mark)
    while (places.length > cap) {
      const oldest = places.pop()
      if (oldest === undefined || shelf.entries.get(oldest.id)?.dirtySince !== undefined) break
      drop(model, shelf, oldest.id, oldest.markedAt)
      if (shelf.known && (shelf.floor === undefined || compareMarkPlaces(oldest, shelf.floor) < 0)) shelf.floor = oldest
    }
  }
}

export function* keysOf(
  { shelves, regions }: Shelves,
  wanted: readonly number[],
): Generator<{ key: MarkKey; region: number; held: Entry; shelf: Shelf }> {
  for (const { viewer, business, shelf } of shelves.values()) {
    const region = regionOf(viewer, regions)
    if (!wanted.includes(region)) continue
    for (const [oid, held] of shelf.entries) yield { key: { viewer, business, oid }, region, held, shelf }
  }
}

/** Newest first. */
export function placesOf(shelf: Shelf, mark: Mark): MarkPlace[] {
  const places: MarkPlace[] = []
  for (const [id, { record }] of shelf.entries) if (record.mark === mark) places.push({ id, markedAt: record.markedAt })
  return places.sort(compareMarkPlaces)
}
