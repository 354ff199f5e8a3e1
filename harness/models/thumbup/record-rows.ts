/** Rows of marks in the model of the record store: recent ones, which cover archived ones. */
import type { Mark, MarkEntry, MarkKey, MarkPlace, OwnerSum, CountedSubject, Subject, ViewerId } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { MarkChanges, MarkRow, StreamOffset } from '../../../subgraphs/thumbup/stores/record-store.ts'

export type Owner = { business: number; owner: ViewerId }

/** Rows by business and key. */
export type Tier = Map<number, Map<string, MarkRow>>

export type MarkRecordsState = {
  recent: Tier
  archived: Tier
  counts: Map<string, CountedSubject>
  owners: Map<string, Subject & Owner>
  sums: Map<string, OwnerSum>
  offsets: Map<string, StreamOffset>
  outbox: Map<number, MarkChanges>
  lastNumber: number
  faults: MarkRecordsFaults
}

/** Faults an adapter could have, for the simulator to find. */
export type MarkRecordsFaults = {
  /** Counts written marks without the marks before them. */
  increments?: boolean
  /** Stores nothing in the outbox. */
  forgetsOutbox?: boolean
}

export function makeMarkRecordsState(faults: MarkRecordsFaults = {}): MarkRecordsState {
  return {
    faults,
    recent: new Map(),
    archived: new Map(),
    counts: new Map(),
    owners: new Map(),
    sums: new Map(),
    offsets: new Map(),
    outbox: new Map(),
    lastNumber: 0,
  }
}

export function rowsOf(tier: Tier, business: number): Map<string, MarkRow> {
  return tier.get(business) ?? new Map<string, MarkRow>()
}

export function find({ recent, archived }: MarkRecordsState, key: MarkKey): MarkRow | undefined {
  return recent.get(key.business)?.get(keyText(key)) ?? archived.get(key.business)?.get(keyText(key))
}

/** The marks of one business. */
export function allRows({ recent, archived }: MarkRecordsState, business: number): MarkRow[] {
  return [...new Map([...rowsOf(archived, business), ...rowsOf(recent, business)]).values()]
}

export function put(tier: Tier, row: MarkRow): void {
  const rows = tier.get(row.key.business)
  if (rows === undefined) tier.set(row.key.business, new Map([[keyText(row.key), row]]))
  else rows.set(keyText(row.key), row)
}

export function listMarks(
  state: MarkRecordsState,
  viewer: ViewerId,
  business: number,
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
) {
  const found = allRows(state, business).filter(({ key, record }) => key.viewer === viewer && marks.includes(record.mark))
  const entries = found.map(({ key, record }) => ({ id: key.oid, markedAt: record.markedAt, record }))
  return pageOf(entries, before, limit).map(({ id, record }) => ({ oid: id, ...record }))
}

export function listLikers(state: MarkRecordsState, subject: Subject, before: MarkPlace | undefined, limit: number): MarkEntry[] {
  const likes = allRows(state, subject.business).filter(({ key, record }) => key.oid === subject.oid && record.mark === 'LIKE')
  return pageOf(
    likes.map(({ key, record }) => ({ id: key.viewer, markedAt: record.markedAt })),
    before,
    limit,
  )
}

/** Subjects of a business that have marks other than NONE. */
export function listMarkedSubjects(state: MarkRecordsState, business: number, after: string | undefined, limit: number): string[] {
  const marked = [...new Set(allRows(state, business).flatMap(({ key, record }) => (record.mark === 'NONE' ? [] : [key.oid])))]
  return marked
    .filter((oid) => after === undefined || compareIds(oid, after) > 0)
    .toSorted(compareIds)
    .slice(0, limit)
}

export function exportMarks(state: MarkRecordsState, business: number, after: MarkKey | undefined, limit: number): MarkRow[] {
  const live = allRows(state, business).filter(({ record }) => record.mark !== 'NONE')
  const sorted = live.toSorted((a, b) => compareKeys(a.key, b.key))
  return sorted.filter(({ key }) => after === undefined || compareKeys(key, after) > 0).slice(0, limit)
}

/** Negative if `a` is listed before `b`. */
function compareMarkPlaces(a: MarkPlace, b: MarkPlace): number {
  return b.markedAt - a.markedAt || compareIds(a.id, b.id)
}

function pageOf<T extends MarkPlace>(entries: readonly T[], before: MarkPlace | undefined, limit: number): T[] {
  const after = entries.filter((entry) => before === undefined || compareMarkPlaces(entry, before) > 0)
  return after.toSorted(compareMarkPlaces).slice(0, limit)
}

function compareKeys(a: MarkKey, b: MarkKey): number {
  return compareIds(a.viewer, b.viewer) || compareIds(a.oid, b.oid)
}
