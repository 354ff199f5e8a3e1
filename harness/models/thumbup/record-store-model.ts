/**
 * The record store of marks as documented in the port, in plain maps: the mark of a key is its recent row, or else its archived one. Lists,
 * sums and recounts are computed from all rows each time. Only counts and owner sums are stored, as the port requires, so a recount can
 * differ from them.
 *
 * Several processes may share a state. Every method happens at one instant, which `run` chooses: at once, or when a simulation decides. If
 * `run` rejects before it has called the action, the action has not happened.
 */
import { compareIds } from '../../../core/keys.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { applyMarks, copyOf, countsOf, ownerOf, recount, recountOwners, registerSubjects, sumOf } from './record-counts.ts'
import { exportMarks, find, listLikers, listMarkedSubjects, listMarks, type MarkRecordsState } from './record-rows.ts'
import { archiveMarks, deleteBusiness, measureBusiness, measureMarks, purgeUndone } from './record-upkeep.ts'

export type RunAtOnce = <T>(name: keyof MarkRecords, args: readonly unknown[], act: () => T) => Promise<T>

// oxlint-disable-next-line typescript/require-await -- what the action throws must reject
const immediately: RunAtOnce = async (_name, _args, act) => act()

/** The port of one process. */
export function openModelMarkRecords(state: MarkRecordsState, run: RunAtOnce = immediately): MarkRecords {
  return {
    applyMarks: (rows, moved) => run('applyMarks', [rows, moved], () => applyMarks(state, rows, moved)),
    getOffsets: (stream) => run('getOffsets', [stream], () => [...state.offsets.values()].filter((item) => item.stream === stream)),
    listOutbox: (limit, after = 0) =>
      run('listOutbox', [limit, after], () =>
        [...state.outbox.values()]
          .filter(({ number }) => number > after)
          .slice(0, limit)
          .map(copyOf),
      ),
    listOutboxNumbers: (limit) => run('listOutboxNumbers', [limit], () => [...state.outbox.keys()].slice(0, limit)),
    dropOutbox: (numbers) => run('dropOutbox', [numbers], () => numbers.forEach((number) => state.outbox.delete(number))),
    getMarkMany: (keys) => run('getMarkMany', [keys], () => keys.map((key) => find(state, key)?.record)),
    listMarks: (viewer, business, marks, before, limit) =>
      run('listMarks', [viewer, business, marks, before, limit], () => listMarks(state, viewer, business, marks, before, limit)),
    listLikers: (subject, before, limit) => run('listLikers', [subject, before, limit], () => listLikers(state, subject, before, limit)),
    getCountsMany: (subjects) => run('getCountsMany', [subjects], () => subjects.map((subject) => countsOf(state, subject))),
    getOwnerSums: (asked) => run('getOwnerSums', [asked], () => asked.map((owner) => sumOf(state, owner))),
    registerSubjects: (registrations) => run('registerSubjects', [registrations], () => registerSubjects(state, registrations)),
    getOwners: (subjects) => run('getOwners', [subjects], () => subjects.map((subject) => ownerOf(state, subject))),
    recount: (subjects) => run('recount', [subjects], () => recount(state, subjects)),
    recountOwners: (asked) => run('recountOwners', [asked], () => recountOwners(state, asked)),
    listSubjects: (business, after, limit) =>
      run('listSubjects', [business, after, limit], () => byId(state.counts.values(), business, ({ oid }) => oid, after, limit)),
    listMarkedSubjects: (business, after, limit) =>
      run('listMarkedSubjects', [business, after, limit], () => listMarkedSubjects(state, business, after, limit)),
    listOwners: (business, after, limit) =>
      run('listOwners', [business, after, limit], () => byId(state.sums.values(), business, ({ owner }) => owner, after, limit)),
    archiveMarks: (markedBefore, limit) => run('archiveMarks', [markedBefore, limit], () => archiveMarks(state, markedBefore, limit)),
    purgeUndone: (undoneBefore, limit) => run('purgeUndone', [undoneBefore, limit], () => purgeUndone(state, undoneBefore, limit)),
    exportMarks: (business, after, limit) => run('exportMarks', [business, after, limit], () => exportMarks(state, business, after, limit)),
    listRegistrations: (business, after, limit) =>
      run('listRegistrations', [business, after, limit], () => byId(state.owners.values(), business, ({ oid }) => oid, after, limit)),
    measureBusiness: (business) => run('measureBusiness', [business], () => measureBusiness(state, business)),
    deleteBusiness: (business, limit) => run('deleteBusiness', [business, limit], () => deleteBusiness(state, business, limit)),
    measureMarks: () => run('measureMarks', [], () => measureMarks(state)),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

function byId<T extends { business: number }>(
  items: Iterable<T>,
  business: number,
  idOf: (item: T) => string,
  after: string | undefined,
  limit: number,
): T[] {
  const own = [...items].filter((item) => item.business === business && (after === undefined || compareIds(idOf(item), after) > 0))
  return own.toSorted((a, b) => compareIds(idOf(a), idOf(b))).slice(0, limit)
}
