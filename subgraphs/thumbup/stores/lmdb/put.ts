/** Puts marks, and fills in marks from the record store, inside the call's transaction. */
import type { BusinessNumber, MarkRecord, ViewerId } from '../../../../core/domain.ts'
import { winsOver } from '../../model/merge.ts'
import type { FillOptions, MarkOutcome, MarkPutOptions, MarkWrite } from '../hot-store.ts'
import { lastVersion, nextVersion } from '../../../../stores/lmdb/version-counter.ts'
import { markShelf, readMark, replaceMark, trimMarks, type MarkShelf, type MarkWork } from './work.ts'
import { compareMarkPlaces } from '../../model/places.ts'

export function putMarks(work: MarkWork, writes: readonly MarkWrite[], { now, cap }: MarkPutOptions): MarkOutcome[] {
  const touched = new Set<MarkShelf>()
  const outcomes = writes.map((write) => {
    const shelf = markShelf(work, write)
    const outcome = putOne(work, shelf, write, now)
    if (outcome.status === 'written') touched.add(shelf)
    return outcome
  })
  for (const shelf of touched) trimMarks(work, shelf, cap)
  return outcomes
}

function putOne(work: MarkWork, shelf: MarkShelf, write: MarkWrite, now: number): MarkOutcome {
  const held = readMark(work, shelf, write.oid)
  const base = held === undefined ? validBase(shelf, write) : undefined
  if (held === undefined && base === undefined && write.blind !== true && mayMiss(shelf, write)) {
    return { status: 'needs-base', unknown: !shelf.state.known, asOf: lastVersion(work.versions) }
  }
  const stored = held?.record ?? base ?? undefined
  if (stored !== undefined && isStale(write, stored)) return { status: 'stale', record: stored }
  const old = stored?.mark ?? 'NONE'
  const record: MarkRecord = { mark: write.mark, markedAt: write.markedAt, version: nextVersion(work.versions, now, stored?.version ?? 0) }
  const countedAt = held?.countedAt ?? stored?.markedAt ?? 0
  replaceMark(work, shelf, write.oid, held, { record, counted: held?.counted ?? old, countedAt, dirtySince: held?.dirtySince || now })
  return { status: 'written', old, record }
}

/** Undefined if there is none, or if a possibly newer mark has left since the base was requested. */
function validBase(shelf: MarkShelf, { base, baseAsOf }: MarkWrite): MarkRecord | null | undefined {
  return baseAsOf !== undefined && baseAsOf < shelf.state.leftAt ? undefined : base
}

function mayMiss({ state }: MarkShelf, { markedAt }: MarkWrite): boolean {
  return !state.known || state.floor !== undefined || markedAt <= state.droppedUntil
}

/** The write would get a version above the stored one, so at an equal time it loses only with the same mark. */
function isStale({ mark, markedAt }: MarkWrite, stored: MarkRecord): boolean {
  if (markedAt === stored.markedAt && mark === stored.mark) return true
  return !winsOver({ mark, markedAt, version: Number.POSITIVE_INFINITY }, stored)
}

export function fillMarks(
  work: MarkWork,
  { viewer, business }: { viewer: ViewerId; business: BusinessNumber },
  rows: readonly (MarkRecord & { oid: string })[],
  { cap, asOf, whole }: FillOptions,
): void {
  const shelf = markShelf(work, { viewer, business })
  // Without any row, an incomplete fill has no floor.
  if (shelf.state.known || shelf.state.leftAt > asOf || (!whole && rows.length === 0)) return
  for (const { oid, mark, markedAt, version } of rows) {
    const held = readMark(work, shelf, oid)
    if (held !== undefined) continue
    replaceMark(work, shelf, oid, held, { record: { mark, markedAt, version }, counted: mark, countedAt: markedAt, dirtySince: 0 })
  }
  shelf.state.known = true
  if (!whole)
    shelf.state.floor = rows
      .map(({ oid, markedAt }) => ({ id: oid, markedAt }))
      .sort(compareMarkPlaces)
      .at(-1)
  shelf.stateChanged = true
  trimMarks(work, shelf, cap)
}
