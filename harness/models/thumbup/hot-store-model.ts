/**
 * The mark store in plain maps. Every adapter is compared with it, and tests and the simulator use it if they do not test the store itself.
 * It implements the whole port as documented, without optimizations, and passes the contract. `makeMarkStoreModel` is the port with
 * immediate calls: no call fails, and none sees half of another. The simulator has its own port to the state
 * (`harness/simulation/thumbup/model-store.ts`).
 *
 * An adapter could have each of the faults that can be planted.
 */
import type { BusinessNumber, DirtyWalk, MarkKey, MarkPlace, MarkRecord, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'
import type {
  FillOptions,
  HotLikes,
  HotMark,
  MarkOutcome,
  MarkOwner,
  MarkPutOptions,
  MarkStore,
  MarkWrite,
  PersistedMark,
  ReadStart,
} from '../../../subgraphs/thumbup/stores/hot-store.ts'
import {
  drop,
  keysOf,
  peek,
  placesOf,
  shelfOf,
  trim,
  trimAll,
  type Entry,
  type MarkStoreFaults,
  type MarkStoreObserver,
  type Shelf,
  type Shelves,
} from './shelves.ts'

const VERSIONS_PER_MS = 1_024

type Row = MarkRecord & { oid: string }

export type MarkStoreState = ReturnType<typeof makeMarkStoreState>

export function makeMarkStoreState(regions: number, faults: MarkStoreFaults = {}, observer?: MarkStoreObserver) {
  const model: Shelves = { regions, faults, observer, shelves: new Map(), clock: 0 }
  return {
    putMarks: (writes: readonly MarkWrite[], options: MarkPutOptions) => putMarks(model, writes, options),
    getOne: (key: MarkKey) => getOne(model, key),
    listLikes: (viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number) =>
      listLikes(model, viewer, business, before, limit),
    beginRead: (owner: MarkOwner): ReadStart => ({ unknown: !peek(model, owner).known, asOf: model.clock }),
    fill(viewer: ViewerId, business: BusinessNumber, rows: readonly Row[], options: FillOptions): void {
      fillShelf(model, shelfOf(model, { viewer, business }), rows, options)
      for (const { oid } of rows) observer?.moved({ viewer, business, oid })
    },
    readDirtyMark: (key: MarkKey) => readDirtyMark(model, key),
    clearDirtyMarks: (persisted: readonly PersistedMark[], cap: number) => clearDirtyMarks(model, persisted, cap),
    listDirtyMarks: (wanted: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk) =>
      listDirtyMarks(model, wanted, dirtyBefore, limit, walk),
    countDirtyMarks: () => [...keysOf(model, [...Array(regions).keys()])].filter(({ held }) => held.dirtySince !== undefined).length,
    purgeUndone: (wanted: readonly number[], undoneBefore: number, limit: number) => purgeUndone(model, wanted, undoneBefore, limit),
    forgetBusiness: (business: BusinessNumber, limit: number) => forgetBusiness(model, business, limit),
    countViewers: (business: BusinessNumber) => [...model.shelves.values()].filter((held) => held.business === business).length,
    forgetIdle: (isIdle: (viewer: ViewerId, business: BusinessNumber) => boolean) => forgetIdle(model, isIdle),
    regionOf: (viewer: ViewerId) => regionOf(viewer, regions),
    /** The held entry of a key, for checks. */
    heldOf: (key: MarkKey): Readonly<Entry> | undefined => peek(model, key).entries.get(key.oid),
  }
}

export function makeMarkStoreModel(regions: number): MarkStore {
  const state = makeMarkStoreState(regions)
  return {
    putMarks: async (writes, options) => state.putMarks(writes, options),
    getMarkMany: async (keys) => keys.map(state.getOne),
    listLikes: async (viewer, business, before, limit) => state.listLikes(viewer, business, before, limit),
    beginReads: async (owners) => owners.map(state.beginRead),
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

function putMarks(model: Shelves, writes: readonly MarkWrite[], { now, cap }: MarkPutOptions): MarkOutcome[] {
  const outcomes = writes.map((write) => putOne(model, write, now))
  trimAll(
    model,
    writes.filter((_, index) => outcomes[index]?.status === 'written'),
    cap,
  )
  return outcomes
}

function putOne(model: Shelves, write: MarkWrite, now: number): MarkOutcome {
  const isGuess = write.blind === true && !peek(model, write).entries.has(write.oid)
  const outcome = decide(model, write, now)
  model.observer?.put(write, outcome, isGuess && outcome.status === 'written')
  return outcome
}

function decide(model: Shelves, write: MarkWrite, now: number): MarkOutcome {
  const shelf = peek(model, write)
  const held = shelf.entries.get(write.oid)
  const validBase = write.base !== undefined && (write.baseAsOf === undefined || write.baseAsOf >= shelf.leftAt)
  if (held === undefined && !validBase && write.blind !== true) {
    const mayMiss = !shelf.known || shelf.floor !== undefined || write.markedAt <= shelf.droppedUntil
    if (mayMiss) return { status: 'needs-base', unknown: !shelf.known, asOf: model.clock }
  }
  const stored = held?.record ?? (validBase ? (write.base ?? undefined) : undefined)
  const version = Math.max(model.clock + 1, now * VERSIONS_PER_MS, (stored?.version ?? 0) + 1)
  const record: MarkRecord = { mark: write.mark, markedAt: write.markedAt, version }
  const repeated = stored !== undefined && stored.markedAt === record.markedAt && stored.mark === record.mark
  if (stored !== undefined && (repeated || !winsOver(record, stored))) return { status: 'stale', record: stored }
  model.clock = version
  const old = stored?.mark ?? 'NONE'
  const countedAt = held?.countedAt ?? stored?.markedAt ?? 0
  shelfOf(model, write).entries.set(write.oid, { record, counted: held?.counted ?? old, countedAt, dirtySince: held?.dirtySince ?? now })
  return { status: 'written', old, record }
}

function getOne(model: Shelves, key: MarkKey): HotMark {
  const shelf = peek(model, key)
  const held = shelf.entries.get(key.oid)
  if (held !== undefined) {
    const shown = { mark: held.record.mark, counted: held.counted, pending: held.dirtySince !== undefined }
    return shown.mark === 'NONE' ? { ...shown, undone: true } : shown
  }
  const miss: HotMark = { mark: 'NONE', counted: 'NONE', pending: false }
  if (!shelf.known) return { ...miss, older: 'unknown' }
  return shelf.floor === undefined ? miss : { ...miss, older: 'truncated' }
}

function listLikes(model: Shelves, viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): HotLikes {
  const shelf = peek(model, { viewer, business })
  const places = placesOf(shelf, 'LIKE').filter((place) => before === undefined || compareMarkPlaces(before, place) < 0)
  return { entries: places.slice(0, limit), floor: shelf.known ? shelf.floor : null }
}

function fillShelf(model: Shelves, shelf: Shelf, rows: readonly Row[], { cap, asOf, whole }: FillOptions): void {
  if (shelf.known || shelf.leftAt > asOf || (!whole && rows.length === 0)) return
  for (const { oid, ...record } of rows) {
    if (!shelf.entries.has(oid) || model.faults.fillOverwrites === true)
      shelf.entries.set(oid, { record, counted: record.mark, countedAt: record.markedAt, dirtySince: undefined })
  }
  shelf.known = true
  if (!whole)
    shelf.floor = rows
      .map(({ oid, markedAt }) => ({ id: oid, markedAt }))
      .sort(compareMarkPlaces)
      .at(-1)
  trim(model, shelf, cap)
}

function readDirtyMark(model: Shelves, key: MarkKey): { key: MarkKey; record: MarkRecord | undefined } {
  const held = peek(model, key).entries.get(key.oid)
  if (held !== undefined && model.faults.clearsOnRead === true) held.dirtySince = undefined
  return { key, record: held?.record }
}

function clearDirtyMarks(model: Shelves, persisted: readonly PersistedMark[], cap: number): void {
  for (const each of persisted) clearOne(model, each)
  trimAll(
    model,
    persisted.map(({ key }) => key),
    cap,
  )
  for (const { key } of persisted) model.observer?.moved(key)
}

function clearOne(model: Shelves, { key, version, record }: PersistedMark): void {
  const { entries } = peek(model, key)
  const held = entries.get(key.oid)
  if (held === undefined) return
  if (held.record.version === version || model.faults.clearsUnchecked === true) {
    entries.set(key.oid, { record, counted: record.mark, countedAt: record.markedAt, dirtySince: undefined })
  } else if (held.dirtySince !== undefined && record.markedAt >= held.countedAt) {
    held.counted = record.mark
    held.countedAt = record.markedAt
  }
}

function listDirtyMarks(model: Shelves, wanted: readonly number[], dirtyBefore: number, limit: number, walk: DirtyWalk = {}): MarkKey[] {
  const dirty = [...keysOf(model, wanted)].flatMap(({ key, held: { dirtySince } }) =>
    dirtySince === undefined ? [] : [{ key, dirtySince }],
  )
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

function purgeUndone(model: Shelves, wanted: readonly number[], undoneBefore: number, limit: number): number {
  const undone = [...keysOf(model, wanted)].filter(
    ({ held: { record, dirtySince } }) => record.mark === 'NONE' && dirtySince === undefined && record.markedAt <= undoneBefore,
  )
  for (const { key, held, shelf } of undone.slice(0, limit)) {
    drop(model, shelf, key.oid, held.record.markedAt)
    model.observer?.moved(key)
  }
  return Math.min(undone.length, limit)
}

function forgetBusiness({ shelves }: Shelves, business: BusinessNumber, limit: number): number {
  const found = [...shelves].filter(([, held]) => held.business === business).slice(0, limit)
  for (const [name] of found) shelves.delete(name)
  return found.reduce((gone, [, { shelf }]) => gone + 1 + shelf.entries.size, 0)
}

/** Viewers without requests for a long time are unknown again, as if they had never been there. */
function forgetIdle({ shelves, observer }: Shelves, isIdle: (viewer: ViewerId, business: BusinessNumber) => boolean): void {
  for (const [name, { viewer, business, shelf }] of shelves) {
    const isClean = [...shelf.entries.values()].every(({ dirtySince }) => dirtySince === undefined)
    if (!isClean || !isIdle(viewer, business)) continue
    shelves.delete(name)
    for (const oid of shelf.entries.keys()) observer?.moved({ viewer, business, oid })
  }
}
