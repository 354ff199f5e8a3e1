/** Marks of unused viewers (`reports.ts`), and the first steps of most tests of the mark store. */
import type { Mark, MarkKey, MarkRecord } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { HotMark, MarkOutcome, MarkStore, MarkWrite, ReadStart } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import { later } from '../reports.ts'

export const CAP = 100
export const NOTHING: HotMark = { mark: 'NONE', counted: 'NONE', pending: false }
/** Like NOTHING, for a subject that was marked before. */
export const UNDONE: HotMark = { ...NOTHING, undone: true }

export function markOf(viewer: string, oid: string, mark: Mark, markedAt: number, fields: Partial<MarkWrite> = {}): MarkWrite {
  return { viewer, business: 1, oid, mark, markedAt, ...fields }
}

/** Writes one mark at its own time. Returns the outcome. */
export async function putMark(store: MarkStore, write: MarkWrite, cap = CAP): Promise<MarkOutcome> {
  const [outcome] = await store.putMarks([write], { now: later(), cap })
  if (outcome === undefined) throw new Error('a write without an outcome')
  return outcome
}

/** The outcome as written. Any other outcome is an error with its content. */
export function written(outcome: MarkOutcome | undefined): Extract<MarkOutcome, { status: 'written' }> {
  if (outcome?.status !== 'written') throw new Error(`expected a written outcome, got ${JSON.stringify(outcome)}`)
  return outcome
}

export function asksForBase(outcome: MarkOutcome | undefined): Extract<MarkOutcome, { status: 'needs-base' }> {
  if (outcome?.status !== 'needs-base') throw new Error(`expected to be asked for a base, got ${JSON.stringify(outcome)}`)
  return outcome
}

export async function beginFill(store: MarkStore, viewer: string, business = 1): Promise<number> {
  const [{ asOf }] = (await store.beginReads([{ viewer, business }])) as [ReadStart]
  return asOf
}

/** Makes the viewer known; complete unless `whole` is false. */
export async function fill(
  store: MarkStore,
  viewer: string,
  rows: readonly (MarkRecord & { oid: string })[] = [],
  { business = 1, cap = CAP, whole = true } = {},
): Promise<void> {
  const asOf = await beginFill(store, viewer, business)
  await store.fillMarks(viewer, business, rows, { cap, asOf, whole })
}

/** A persist step with a record store that accepts every row. Returns the persisted records. */
export async function persist(store: MarkStore, keys: readonly MarkKey[], cap = CAP): Promise<MarkRecord[]> {
  const read = await store.readDirtyMarks(keys)
  const persisted = read.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, version: record.version, record }]))
  await store.clearDirtyMarks(persisted, cap)
  return persisted.map(({ record }) => record)
}

/** Likes new subjects a second apart, oldest first, and persists each. Returns the records. */
export async function likeClean(store: MarkStore, viewer: string, oids: readonly string[], cap = CAP, business = 1): Promise<MarkRecord[]> {
  const records: MarkRecord[] = []
  for (const oid of oids) {
    const now = later(1_000)
    const [outcome] = await store.putMarks([markOf(viewer, oid, 'LIKE', now, { business, base: null })], { now, cap })
    records.push(written(outcome).record)
    await persist(store, [{ viewer, business, oid }], cap)
  }
  return records
}

export async function lookUp(store: MarkStore, viewer: string, oid: string, business = 1): Promise<HotMark> {
  const [found] = await store.getMarkMany([{ viewer, business, oid }])
  if (found === undefined) throw new Error('a key without an answer')
  return found
}

export async function listedOids(store: MarkStore, viewer: string, business = 1): Promise<string[]> {
  return (await store.listLikes(viewer, business, undefined, 1_000)).entries.map(({ id }) => id)
}

/** The dirty oids of one viewer in the order of the store. */
export async function dirtyOids(store: MarkStore, regions: number, viewer: string, dirtyBefore: number): Promise<string[]> {
  const keys = await store.listDirtyMarks([regionOf(viewer, regions)], dirtyBefore, 10_000_000)
  return keys.filter((key) => key.viewer === viewer).map(({ oid }) => oid)
}

export async function purgeAll(store: MarkStore, regions: readonly number[], undoneBefore: number): Promise<number> {
  let gone = 0
  for (;;) {
    const went = await store.purgeUndone(regions, undoneBefore, 100)
    if (went === 0) return gone
    gone += went
  }
}

export function withoutVersion<T extends { version: number }>(record: T): Omit<T, 'version'> {
  const { version: _, ...rest } = record
  return rest
}
