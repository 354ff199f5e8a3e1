/**
 * The record store of marks on LMDB. Rows and lists are kept by viewer and by subject (keys.ts), beside the blocks of archived marks.
 * Counts, owners and their sums have a table each.
 *
 * A transaction of the environment is a transaction of this port. It runs alone, across processes, on the newest state. The old rows cannot
 * change under it, and its writes are atomic. Archiving takes few rows at a time: the transaction packs blocks again while others wait for
 * the writer's lock.
 */
import type { OwnerSum } from '../../../../core/domain.ts'
import type { AppliedMarks, MarkRecords, MarkRow, Registration, StreamOffset } from '../record-store.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { applyRows, countTransitions, registerAll } from './records/apply.ts'
import { archiveRows, isToArchive, isToPurge, purgeRows } from './records/archive.ts'
import { businessRange, makeMarkShelf } from './records/keys.ts'
import { listForExport, listSubjectsLikers, listViewersMarks } from './records/lists.ts'
import { appendChanges, moveOffsets, readChanges, readNumbers, readOffsets, removeChanges } from './records/outbox.ts'
import {
  findDrift,
  findOwnerDrift,
  listCounted,
  listMarked,
  listRegistered,
  listSums,
  measure,
  measureBusiness,
} from './records/recount.ts'
import { findMarks, openMarkTables, readCounts, readSum } from './records/tables.ts'
import { makeFinder, type Entry } from '../../../../stores/lmdb/scan.ts'

const ARCHIVED_PER_WRITE = 500
const REMOVED_PER_WRITE = 2_000

/** The environment stays open when the store is closed: others may use it. */
export function openLmdbMarkRecords(environment: Environment): MarkRecords {
  const tables = openMarkTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))
  const archive = makeWalk(tables.likers, isToArchive, archiveRows)
  const purge = makeWalk(tables.likes, isToPurge, purgeRows)

  function applyMarks(rows: readonly MarkRow[], offsets: readonly StreamOffset[]): AppliedMarks {
    const { stored, transitions, moved } = applyRows(tables, rows)
    moveOffsets(tables, offsets)
    if (transitions.length + moved.length === 0) return { stored, changes: undefined }
    return { stored, changes: appendChanges(tables, { transitions, ...countTransitions(tables, transitions, moved) }) }
  }

  function registerSubjects(registrations: readonly Registration[]): OwnerSum[] {
    const owners = registerAll(tables, registrations)
    if (owners.length > 0) appendChanges(tables, { transitions: [], counts: [], owners })
    return owners
  }

  /** Finds rows by a walk over all of them, which continues where the last call stopped. Removes the rows that still match. */
  function makeWalk(table: Bytes, matches: (entry: Entry, before: number) => boolean, remove: typeof archiveRows) {
    const find = makeFinder(environment, table, matches)
    let last: Promise<unknown> = Promise.resolve()

    async function removeSome(before: number, limit: number): Promise<number> {
      if (limit <= 0) return 0
      for (;;) {
        const found = await find(before, limit)
        if (found.length === 0) return 0
        const removed = await environment.writeToFree(() => remove(tables, found, before))
        if (removed > 0) return removed
      }
    }

    /** One call after the other: the walk has one place. */
    return (before: number, limit: number): Promise<number> => {
      const turn = last.then(() => removeSome(before, limit))
      last = turn.catch(() => undefined)
      return turn
    }
  }

  /** Rows go first, so that a concurrent archiving finds none to put back. */
  function removeBusiness(business: number, limit: number): number {
    let removed = 0
    for (const table of [tables.likes, tables.likers, tables.counts, tables.owned, tables.owners]) {
      if (removed >= limit) break
      const keys = [...table.getKeys({ ...businessRange(business), limit: limit - removed })]
      for (const key of keys) void table.remove(key)
      removed += keys.length
    }
    return removed
  }

  return {
    applyMarks: (rows, offsets) => calling(() => environment.write(() => applyMarks(rows, offsets))),
    getOffsets: (stream) => reading(() => readOffsets(tables, stream)),
    listOutbox: (limit, after = 0) => reading(() => (limit > 0 ? readChanges(tables, limit, after) : [])),
    listOutboxNumbers: (limit) => reading(() => (limit > 0 ? readNumbers(tables, limit) : [])),
    dropOutbox: (numbers) => calling(() => environment.writeToFree(() => removeChanges(tables, numbers))),
    getMarkMany: (keys) => reading(() => findMarks(tables, keys).map((found) => found?.record)),
    listMarks: (viewer, business, marks, before, limit) =>
      reading(() => listViewersMarks(tables, makeMarkShelf(business, viewer), marks, before, limit)),
    listLikers: ({ business, oid }, before, limit) =>
      reading(() => listSubjectsLikers(tables, makeMarkShelf(business, oid), before, limit)),
    getCountsMany: (subjects) => reading(() => subjects.map((subject) => readCounts(tables, subject).counts)),
    getOwnerSums: (owners) => reading(() => owners.map((owner) => readSum(tables, owner))),
    registerSubjects: (registrations) => calling(() => environment.write(() => registerSubjects(registrations))),
    getOwners: (subjects) => reading(() => subjects.map((subject) => readCounts(tables, subject).owner)),
    recount: (subjects) => reading(() => subjects.flatMap((subject) => findDrift(tables, subject))),
    recountOwners: (owners) => reading(() => owners.flatMap((owner) => findOwnerDrift(tables, owner))),
    listSubjects: (business, after, limit) => reading(() => listCounted(tables, business, after, limit)),
    listMarkedSubjects: (business, after, limit) => reading(() => listMarked(tables, business, after, limit)),
    listOwners: (business, after, limit) => reading(() => listSums(tables, business, after, limit)),
    archiveMarks: (markedBefore, limit) => calling(() => archive(markedBefore, Math.min(limit, ARCHIVED_PER_WRITE))),
    purgeUndone: (undoneBefore, limit) => calling(() => purge(undoneBefore, Math.min(limit, REMOVED_PER_WRITE))),
    exportMarks: (business, after, limit) => reading(() => listForExport(tables, business, after, limit)),
    listRegistrations: (business, after, limit) => reading(() => listRegistered(tables, business, after, limit)),
    measureBusiness: (business) => calling(() => measureBusiness(environment, tables, business)),
    deleteBusiness: (business, limit) =>
      calling(() => environment.writeToFree(() => removeBusiness(business, Math.min(limit, REMOVED_PER_WRITE)))),
    measureMarks: () => calling(() => measure(environment, tables)),
    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}
