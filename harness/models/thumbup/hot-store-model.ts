/**
 * The mark store in plain maps. Every adapter is compared with it, and tests and the simulator use it if they do not test the store itself.
 * It implements the whole port as documented, without optimizations, and passes the contract. `makeMarkStoreModel` is the port with
 * immediate calls: no call fails, and none sees half of another. The simulator has its own port to the state
 * (`harness/simulation/thumbup/model-store.ts`).
 *
 * The faults that can be planted are faults an adapter could have.
 */
import type { BusinessNumber, Mark, MarkKey, MarkPlace, MarkRecord, ViewerId } from '../../../core/domain.ts'
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import { keyText } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import type {
  DirtyWalk,
  FillOptions,
  HotLikes,
  HotMark,
  MarkOutcome,
  MarkPutOptions,
  MarkStore,
  MarkWrite,
  PersistedMark,
} from '../../../subgraphs/thumbup/stores/hot-store.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'

export type MarkStoreFaults = {
  /** Reading a dirty mark makes it clean before it is persisted. */
  clearsOnRead?: boolean
  /** Clears a dirty mark regardless of the version. */
  clearsUnchecked?: boolean
  /** A fill replaces held marks. */
  fillOverwrites?: boolean
}

/** Notified of every write at the instant it happens, and of every key whose entry may have changed otherwise. */
export type MarkStoreObserver = {
  /** `isGuess`: the write did not consider the record store. */
  put(write: MarkWrite, outcome: MarkOutcome, isGuess: boolean): void
  moved(key: MarkKey): void
}

/** `dirtySince` is the time of the first change that was not persisted. */
type Entry = { record: MarkRecord; counted: Mark; countedAt: number; dirtySince: number | undefined }
type Shelf = {
  known: boolean
  /** The newest dropped place, or the oldest place of a fill. */
  floor: MarkPlace | undefined
  /** The latest `markedAt` that ever left. */
  droppedUntil: number
  /** The clock of the region at the last removal. */
  leftAt: number
  entries: Map<string, Entry>
}

const VERSIONS_PER_MS = 1_024

export type MarkStoreState = ReturnType<typeof makeMarkStoreState>

export function makeMarkStoreState(regions: number, faults: MarkStoreFaults = {}, observer?: MarkStoreObserver) {
  const shelves = new Map<string, { viewer: string; business: number; shelf: Shelf }>()
  let clock = 0

  /** Reading creates no shelf: a missing shelf reads as an empty one. */
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
    const isGuess = write.blind === true && !peek(write).entries.has(write.oid)
    const outcome = decide(write, now)
    observer?.put(write, outcome, isGuess && outcome.status === 'written')
    return outcome
  }

  function decide(write: MarkWrite, now: number): MarkOutcome {
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
    const countedAt = held?.countedAt ?? stored?.markedAt ?? 0
    shelfOf(write).entries.set(write.oid, { record, counted: held?.counted ?? old, countedAt, dirtySince: held?.dirtySince ?? now })
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
    if (held !== undefined) {
      const shown = { mark: held.record.mark, counted: held.counted, pending: held.dirtySince !== undefined }
      return shown.mark === 'NONE' ? { ...shown, undone: true } : shown
    }
    const miss: HotMark = { mark: 'NONE', counted: 'NONE', pending: false }
    if (!shelf.known) return { ...miss, older: 'unknown' }
    return shelf.floor === undefined ? miss : { ...miss, older: 'truncated' }
  }

  function clearOne({ key, version, record }: PersistedMark): void {
    const { entries } = peek(key)
    const held = entries.get(key.oid)
    if (held === undefined) return
    if (held.record.version === version || faults.clearsUnchecked === true) {
      entries.set(key.oid, { record, counted: record.mark, countedAt: record.markedAt, dirtySince: undefined })
    } else if (held.dirtySince !== undefined && record.markedAt >= held.countedAt) {
      held.counted = record.mark
      held.countedAt = record.markedAt
    }
  }

  function fillShelf(shelf: Shelf, rows: readonly (MarkRecord & { oid: string })[], { cap, asOf, whole }: FillOptions): void {
    if (shelf.known || shelf.leftAt > asOf || (!whole && rows.length === 0)) return
    for (const { oid, ...record } of rows) {
      if (!shelf.entries.has(oid) || faults.fillOverwrites === true)
        shelf.entries.set(oid, { record, counted: record.mark, countedAt: record.markedAt, dirtySince: undefined })
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

  function putMarks(writes: readonly MarkWrite[], { now, cap }: MarkPutOptions): MarkOutcome[] {
    const outcomes = writes.map((write) => putOne(write, now))
    trimAll(
      writes.filter((_, index) => outcomes[index]?.status === 'written'),
      cap,
    )
    return outcomes
  }

  function listLikes(viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): HotLikes {
    const shelf = peek({ viewer, business })
    const places = placesOf(shelf, 'LIKE').filter((place) => before === undefined || compareMarkPlaces(before, place) < 0)
    return { entries: places.slice(0, limit), floor: shelf.known ? shelf.floor : null }
  }

  function readDirtyMark(key: MarkKey): { key: MarkKey; record: MarkRecord | undefined } {
    const held = peek(key).entries.get(key.oid)
    if (held !== undefined && faults.clearsOnRead === true) held.dirtySince = undefined
    return { key, record: held?.record }
  }

  function clearDirtyMarks(persisted: readonly PersistedMark[], cap: number): void {
    persisted.forEach(clearOne)
    trimAll(
      persisted.map(({ key }) => key),
      cap,
    )
    for (const { key } of persisted) observer?.moved(key)
  }

  function listDirtyMarks(wanted: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): MarkKey[] {
    const dirty = [...keysOf(wanted)].flatMap(({ key, held: { dirtySince } }) => (dirtySince === undefined ? [] : [{ key, dirtySince }]))
    const after = walk.place as { dirtySince: number; text: string } | undefined
    const isBehind = (a: { dirtySince: number; text: string }, b: typeof a): boolean =>
      a.dirtySince > b.dirtySince || (a.dirtySince === b.dirtySince && a.text > b.text)
    const page = dirty
      .map((each) => ({ ...each, text: keyText(each.key) }))
      .filter((each) => each.dirtySince <= dirtyBefore && (after === undefined || isBehind(each, after)))
      .sort((a, b) => (isBehind(a, b) ? 1 : -1))
      .slice(0, limit)
    walk.place = page.at(-1) ?? after
    return page.map(({ key }) => key)
  }

  function purgeUndone(wanted: readonly number[], undoneBefore: number, limit: number): number {
    const undone = [...keysOf(wanted)].filter(
      ({ held: { record, dirtySince } }) => record.mark === 'NONE' && dirtySince === undefined && record.markedAt <= undoneBefore,
    )
    for (const { key, held, shelf } of undone.slice(0, limit)) {
      drop(shelf, key.oid, held.record.markedAt)
      observer?.moved(key)
    }
    return Math.min(undone.length, limit)
  }

  function forgetBusiness(business: BusinessNumber, limit: number): number {
    const found = [...shelves].filter(([, held]) => held.business === business).slice(0, limit)
    for (const [name] of found) shelves.delete(name)
    return found.reduce((gone, [, { shelf }]) => gone + 1 + shelf.entries.size, 0)
  }

  /** Viewers without requests for a long time are unknown again, as if they had never been there. */
  function forgetIdle(isIdle: (viewer: ViewerId, business: BusinessNumber) => boolean): void {
    for (const [name, { viewer, business, shelf }] of shelves) {
      const isClean = [...shelf.entries.values()].every(({ dirtySince }) => dirtySince === undefined)
      if (!isClean || !isIdle(viewer, business)) continue
      shelves.delete(name)
      for (const oid of shelf.entries.keys()) observer?.moved({ viewer, business, oid })
    }
  }

  return {
    putMarks,
    getOne,
    listLikes,
    clockNow: () => clock,
    fill(viewer: ViewerId, business: BusinessNumber, rows: readonly (MarkRecord & { oid: string })[], options: FillOptions): void {
      fillShelf(shelfOf({ viewer, business }), rows, options)
      for (const { oid } of rows) observer?.moved({ viewer, business, oid })
    },
    readDirtyMark,
    clearDirtyMarks,
    listDirtyMarks,
    countDirtyMarks: () => [...keysOf([...Array(regions).keys()])].filter(({ held }) => held.dirtySince !== undefined).length,
    purgeUndone,
    forgetBusiness,
    countViewers: (business: BusinessNumber) => [...shelves.values()].filter((held) => held.business === business).length,
    forgetIdle,
    regionOf: (viewer: ViewerId) => regionOf(viewer, regions),
    /** The held entry of a key, for checks. */
    heldOf: (key: MarkKey): Readonly<Entry> | undefined => peek(key).entries.get(key.oid),
  }
}

export function makeMarkStoreModel(regions: number): MarkStore {
  const state = makeMarkStoreState(regions)
  return {
    putMarks: async (writes, options) => state.putMarks(writes, options),
    getMarkMany: async (keys) => keys.map(state.getOne),
    listLikes: async (viewer, business, before, limit) => state.listLikes(viewer, business, before, limit),
    beginFill: async () => state.clockNow(),
    fillMarks: async (viewer, business, rows, options) => state.fill(viewer, business, rows, options),
    readDirtyMarks: async (keys) => keys.map(state.readDirtyMark),
    clearDirtyMarks: async (persisted, cap) => state.clearDirtyMarks(persisted, cap),
    dropDirtyMarks: async () => {},
    listDirtyMarks: async (wanted, dirtyBefore, limit, walk) => state.listDirtyMarks(wanted, dirtyBefore, limit, walk),
    countDirtyMarks: async () => state.countDirtyMarks(),
    purgeUndone: async (wanted, undoneBefore, limit) => state.purgeUndone(wanted, undoneBefore, limit),
    forgetBusiness: async (business, limit) => state.forgetBusiness(business, limit),
    countViewers: async (business) => state.countViewers(business),
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
