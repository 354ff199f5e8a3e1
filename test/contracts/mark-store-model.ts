/**
 * The mark store in plain maps: what every adapter is compared with, and what tests and the simulator use where the store
 * itself is not the question. It implements the whole port as the port's text says, nothing more clever, and passes the
 * contract itself. Everything happens at once, inside the call: no call fails, and none sees half of another.
 */
import type { Mark, MarkKey, MarkPlace, MarkRecord } from '../../core/domain.ts'
import { winsOver } from '../../core/merge-mark.ts'
import { compareMarkPlaces } from '../../core/places.ts'
import { regionOf } from '../../core/regions.ts'
import type { FillOptions, HotMark, MarkOutcome, MarkPutOptions, MarkStore, MarkWrite, PersistedMark } from '../../stores/mark-store.ts'

/** `dirtySince` is the time of the first change that was not persisted. */
type Entry = { record: MarkRecord; counted: Mark; dirtySince: number | undefined }
type Shelf = {
  known: boolean
  /** The newest place that was dropped, or the oldest that a fill brought. */
  floor: MarkPlace | undefined
  /** The latest `markedAt` that ever left. */
  droppedUntil: number
  /** The region's clock when something last left. */
  leftAt: number
  entries: Map<string, Entry>
}

const VERSIONS_PER_MS = 1_024

export function makeMarkStoreModel(regions: number): MarkStore {
  const shelves = new Map<string, { viewer: string; business: number; shelf: Shelf }>()
  let clock = 0

  /** Reading makes no shelf: what is not kept is a shelf of nothing. */
  function peek({ viewer, business }: { viewer: string; business: number }): Shelf {
    return (
      shelves.get(`${business}:${viewer}`)?.shelf ?? { known: false, floor: undefined, droppedUntil: -1, leftAt: 0, entries: new Map() }
    )
  }

  function shelfOf(owner: { viewer: string; business: number }): Shelf {
    const shelf = peek(owner)
    shelves.set(`${owner.business}:${owner.viewer}`, { viewer: owner.viewer, business: owner.business, shelf })
    return shelf
  }

  function putOne(write: MarkWrite, now: number): MarkOutcome {
    const shelf = peek(write)
    const held = shelf.entries.get(write.oid)
    const validBase = write.base !== undefined && (write.baseAsOf === undefined || write.baseAsOf >= shelf.leftAt)
    if (held === undefined && !validBase && write.blind !== true) {
      const mayMiss = !shelf.known || shelf.floor !== undefined || write.markedAt <= shelf.droppedUntil
      if (mayMiss) return { status: 'needs-base', unknown: !shelf.known, asOf: clock }
    }
    const stored = held?.record ?? (validBase ? (write.base ?? undefined) : undefined)
    const version = Math.max(clock + 1, now * VERSIONS_PER_MS, (stored?.version ?? 0) + 1)
    const record: MarkRecord = { mark: write.mark, markedAt: write.markedAt, version }
    const repeated = stored !== undefined && stored.markedAt === record.markedAt && stored.mark === record.mark
    if (stored !== undefined && (repeated || !winsOver(record, stored))) return { status: 'stale', record: stored }
    clock = version
    const old = stored?.mark ?? 'NONE'
    shelfOf(write).entries.set(write.oid, { record, counted: held?.counted ?? old, dirtySince: held?.dirtySince ?? now })
    return { status: 'written', old, record }
  }

  function drop(shelf: Shelf, oid: string, markedAt: number): void {
    shelf.entries.delete(oid)
    shelf.droppedUntil = Math.max(shelf.droppedUntil, markedAt)
    clock += 1
    shelf.leftAt = clock
  }

  function trim(shelf: Shelf, cap: number): void {
    for (const mark of ['LIKE', 'DISLIKE'] as const) {
      const places = placesOf(shelf, mark)
      while (places.length > cap) {
        const oldest = places.pop()
        if (oldest === undefined || shelf.entries.get(oldest.id)?.dirtySince !== undefined) break
        drop(shelf, oldest.id, oldest.markedAt)
        if (shelf.known && (shelf.floor === undefined || compareMarkPlaces(oldest, shelf.floor) < 0)) shelf.floor = oldest
      }
    }
  }

  function trimAll(touched: Iterable<{ viewer: string; business: number }>, cap: number): void {
    for (const shelf of new Set(Array.from(touched, peek))) trim(shelf, cap)
  }

  function getOne(key: MarkKey): HotMark {
    const shelf = peek(key)
    const held = shelf.entries.get(key.oid)
    if (held !== undefined) return { mark: held.record.mark, counted: held.counted, pending: held.dirtySince !== undefined }
    const miss: HotMark = { mark: 'NONE', counted: 'NONE', pending: false }
    if (!shelf.known) return { ...miss, older: 'unknown' }
    return shelf.floor === undefined ? miss : { ...miss, older: 'truncated' }
  }

  function clearOne({ key, version, record }: PersistedMark): void {
    const { entries } = peek(key)
    const held = entries.get(key.oid)
    if (held === undefined) return
    if (held.record.version === version) {
      entries.set(key.oid, { record, counted: record.mark, dirtySince: undefined })
    } else if (held.dirtySince !== undefined) {
      held.counted = record.mark
    }
  }

  function fillShelf(shelf: Shelf, rows: readonly (MarkRecord & { oid: string })[], { cap, asOf, whole }: FillOptions): void {
    if (shelf.known || shelf.leftAt > asOf || (!whole && rows.length === 0)) return
    for (const { oid, ...record } of rows) {
      if (!shelf.entries.has(oid)) shelf.entries.set(oid, { record, counted: record.mark, dirtySince: undefined })
    }
    shelf.known = true
    if (!whole)
      shelf.floor = rows
        .map(({ oid, markedAt }) => ({ id: oid, markedAt }))
        .sort(compareMarkPlaces)
        .at(-1)
    trim(shelf, cap)
  }

  function* keysOf(wanted: readonly number[]): Generator<{ key: MarkKey; region: number; held: Entry; shelf: Shelf }> {
    for (const { viewer, business, shelf } of shelves.values()) {
      const region = regionOf(viewer, regions)
      if (!wanted.includes(region)) continue
      for (const [oid, held] of shelf.entries) yield { key: { viewer, business, oid }, region, held, shelf }
    }
  }

  return {
    async putMarks(writes, { now, cap }: MarkPutOptions) {
      const outcomes = writes.map((write) => putOne(write, now))
      trimAll(
        writes.filter((_, index) => outcomes[index]?.status === 'written'),
        cap,
      )
      return outcomes
    },
    getMarkMany: async (keys) => keys.map(getOne),
    async listLikes(viewer, business, before, limit) {
      const shelf = peek({ viewer, business })
      const places = placesOf(shelf, 'LIKE').filter((place) => before === undefined || compareMarkPlaces(before, place) < 0)
      return { entries: places.slice(0, limit), floor: shelf.known ? shelf.floor : null }
    },
    beginFill: async () => clock,
    fillMarks: async (viewer, business, rows, options) => fillShelf(shelfOf({ viewer, business }), rows, options),

    readDirtyMarks: async (keys) => keys.map((key) => ({ key, record: peek(key).entries.get(key.oid)?.record })),
    async clearDirtyMarks(persisted, cap) {
      persisted.forEach(clearOne)
      trimAll(
        persisted.map(({ key }) => key),
        cap,
      )
    },
    dropDirtyMarks: async () => {},
    async listDirtyMarks(wanted, dirtyBefore, limit) {
      const dirty = [...keysOf(wanted)].flatMap(({ key, held: { dirtySince } }) => (dirtySince === undefined ? [] : [{ key, dirtySince }]))
      return dirty
        .filter(({ dirtySince }) => dirtySince <= dirtyBefore)
        .sort((a, b) => a.dirtySince - b.dirtySince)
        .slice(0, limit)
        .map(({ key }) => key)
    },
    countDirtyMarks: async () => [...keysOf([...Array(regions).keys()])].filter(({ held }) => held.dirtySince !== undefined).length,

    async purgeUndone(wanted, undoneBefore, limit) {
      const undone = [...keysOf(wanted)].filter(
        ({ held: { record, dirtySince } }) => record.mark === 'NONE' && dirtySince === undefined && record.markedAt <= undoneBefore,
      )
      for (const { key, held, shelf } of undone.slice(0, limit)) drop(shelf, key.oid, held.record.markedAt)
      return Math.min(undone.length, limit)
    },
    async forgetBusiness(business, limit) {
      const found = [...shelves].filter(([, held]) => held.business === business).slice(0, limit)
      for (const [name] of found) shelves.delete(name)
      return found.reduce((gone, [, { shelf }]) => gone + 1 + shelf.entries.size, 0)
    },
    countViewers: async (business) => [...shelves.values()].filter((held) => held.business === business).length,
    check: async () => {},
    close: async () => {},
  }
}

/** Newest first. */
function placesOf(shelf: Shelf, mark: Mark): MarkPlace[] {
  const places: MarkPlace[] = []
  for (const [id, { record }] of shelf.entries) if (record.mark === mark) places.push({ id, markedAt: record.markedAt })
  return places.sort(compareMarkPlaces)
}
