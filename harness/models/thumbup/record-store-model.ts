/**
 * The record store of marks as documented in the port, in plain maps: the mark of a key is its recent row, or else its archived one. Lists,
 * sums and recounts are computed from all rows each time. Only counts and owner sums are stored, as the port requires, so a recount can
 * differ from them.
 *
 * Several processes may share a state. Every method happens at one instant, which `run` chooses: at once, or when a simulation decides. If
 * `run` rejects before it has called the action, the action has not happened.
 */
import type {
  Mark,
  MarkEntry,
  MarkKey,
  MarkPlace,
  OwnerSum,
  Subject,
  SubjectCounts,
  ViewerId,
  CountedSubject,
} from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { transitionOf, winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import { keyText } from '../../../core/progress-key.ts'
import type {
  AppliedMarks,
  BusinessSize,
  MarkChanges,
  MarkRecords,
  MarkRow,
  MarkTransition,
  StreamOffset,
} from '../../../subgraphs/thumbup/stores/record-store.ts'

type Owner = { business: number; owner: ViewerId }

/** Rows by business and key. */
type Tier = Map<number, Map<string, MarkRow>>

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

export type RunAtOnce = <T>(name: keyof MarkRecords, args: readonly unknown[], act: () => T) => Promise<T>

// oxlint-disable-next-line typescript/require-await -- what the action throws must reject
const immediately: RunAtOnce = async (_name, _args, act) => act()

/** The port of one process. */
export function openModelMarkRecords(state: MarkRecordsState, run: RunAtOnce = immediately): MarkRecords {
  const { recent, archived, counts, owners, sums, offsets, outbox } = state
  const rowsOf = (tier: Tier, business: number): Map<string, MarkRow> => tier.get(business) ?? new Map<string, MarkRow>()
  const find = (key: MarkKey): MarkRow | undefined =>
    recent.get(key.business)?.get(keyText(key)) ?? archived.get(key.business)?.get(keyText(key))
  const all = (business: number): MarkRow[] => [...new Map([...rowsOf(archived, business), ...rowsOf(recent, business)]).values()]
  const countsOf = (subject: Subject): SubjectCounts => counts.get(subjectText(subject))?.counts ?? { likes: 0, dislikes: 0, version: 0 }
  const sumOf = ({ business, owner }: Owner): OwnerSum =>
    sums.get(ownerText({ business, owner })) ?? { business, owner, likes: 0, version: 0 }

  function applyMarks(rows: readonly MarkRow[], moved: readonly StreamOffset[]): AppliedMarks {
    const transitions: MarkTransition[] = []
    const likedAgain: Subject[] = []
    const stored = rows.map(({ key, record }) => {
      const old = find(key)?.record
      if (state.faults.increments === true) transitions.push({ key, old: 'NONE', record })
      if (old !== undefined && !winsOver(record, old)) return old
      put(recent, { key: { ...key }, record: { ...record } })
      if (state.faults.increments === true) return record
      if ((old?.mark ?? 'NONE') !== record.mark) transitions.push({ key, old: old?.mark ?? 'NONE', record })
      else if (record.mark === 'LIKE' && record.markedAt !== old?.markedAt) likedAgain.push(key)
      return record
    })
    for (const { stream, partition, offset } of moved) {
      const text = `${stream}:${partition}`
      offsets.set(text, { stream, partition, offset: Math.max(offset, offsets.get(text)?.offset ?? offset) })
    }
    return { stored, changes: transitions.length + likedAgain.length === 0 ? undefined : countTransitions(transitions, likedAgain) }
  }

  function countTransitions(transitions: MarkTransition[], likedAgain: readonly Subject[]): MarkChanges {
    const perSubject = new Map<string, { subject: Subject; own: MarkTransition[] }>()
    for (const subject of [...transitions.map(({ key }) => key), ...likedAgain]) perSubject.set(subjectText(subject), { subject, own: [] })
    for (const transition of transitions) perSubject.get(subjectText(transition.key))?.own.push(transition)
    const received = new Map<string, Owner & { likes: number }>()
    const counted = [...perSubject.values()].map(({ subject: { business, oid }, own }): CountedSubject => {
      const deltas = own.map(({ old, record }) => transitionOf(old, record.mark))
      const before = countsOf({ business, oid })
      const likes = deltas.reduce((sum, delta) => sum + delta.likes, 0)
      const dislikes = deltas.reduce((sum, delta) => sum + delta.dislikes, 0)
      const owner = owners.get(subjectText({ business, oid }))
      if (owner !== undefined) receive(received, owner, likes)
      return { business, oid, counts: { likes: before.likes + likes, dislikes: before.dislikes + dislikes, version: before.version + 1 } }
    })
    for (const item of counted) counts.set(subjectText(item), item)
    return keep({ transitions, counts: counted, owners: addReceived(received) })
  }

  function keep(changed: Omit<MarkChanges, 'number'>): MarkChanges {
    const changes = { number: ++state.lastNumber, ...changed }
    if (state.faults.forgetsOutbox !== true) outbox.set(changes.number, changes)
    return copyOf(changes)
  }

  function addReceived(received: Map<string, Owner & { likes: number }>): OwnerSum[] {
    return [...received].flatMap(([text, { business, owner, likes }]) => {
      if (likes === 0) return []
      const before = sumOf({ business, owner })
      const sum = { ...before, likes: before.likes + likes, version: before.version + 1 }
      sums.set(text, sum)
      return [sum]
    })
  }

  function registerSubjects(registrations: readonly (Subject & Owner)[]): OwnerSum[] {
    const moved = new Map<string, Owner & { likes: number }>()
    for (const { business, oid, owner } of registrations) {
      const text = subjectText({ business, oid })
      const { likes } = countsOf({ business, oid })
      const old = owners.get(text)
      if (old !== undefined) receive(moved, old, -likes)
      receive(moved, { business, owner }, likes)
      owners.set(text, { business, oid, owner })
    }
    const sums = addReceived(moved)
    if (sums.length > 0) keep({ transitions: [], counts: [], owners: sums })
    return sums
  }

  function listMarks(viewer: ViewerId, business: number, marks: readonly Mark[], before: MarkPlace | undefined, limit: number) {
    const found = all(business).filter(({ key, record }) => key.viewer === viewer && marks.includes(record.mark))
    const entries = found.map(({ key, record }) => ({ id: key.oid, markedAt: record.markedAt, record }))
    return pageOf(entries, before, limit).map(({ id, record }) => ({ oid: id, ...record }))
  }

  function listLikers(subject: Subject, before: MarkPlace | undefined, limit: number): MarkEntry[] {
    const likes = all(subject.business).filter(({ key, record }) => key.oid === subject.oid && record.mark === 'LIKE')
    return pageOf(
      likes.map(({ key, record }) => ({ id: key.viewer, markedAt: record.markedAt })),
      before,
      limit,
    )
  }

  function countRows(subject: Subject): Pick<SubjectCounts, 'likes' | 'dislikes'> {
    const marks = all(subject.business).flatMap(({ key, record }) => (key.oid === subject.oid ? [record.mark] : []))
    return { likes: marks.filter((mark) => mark === 'LIKE').length, dislikes: marks.filter((mark) => mark === 'DISLIKE').length }
  }

  function sumLikes(asked: Owner): number {
    const owned = [...owners.values()].filter(({ business, owner }) => business === asked.business && owner === asked.owner)
    return owned.reduce((sum, subject) => sum + countsOf(subject).likes, 0)
  }

  function archiveMarks(markedBefore: number, limit: number): number {
    const moving = [...recent.values()].flatMap((rows) =>
      [...rows.values()].filter(({ key, record }) => record.markedAt < markedBefore && (record.mark !== 'NONE' || isCovering(key))),
    )
    for (const { key, record } of moving.slice(0, limit)) {
      if (record.mark === 'NONE') {
        archived.get(key.business)?.delete(keyText(key))
      } else {
        put(archived, { key, record: { ...record, version: 0 } })
        recent.get(key.business)?.delete(keyText(key))
      }
    }
    return Math.min(moving.length, limit)
  }

  function isCovering(key: MarkKey): boolean {
    return archived.get(key.business)?.has(keyText(key)) ?? false
  }

  function purgeUndone(undoneBefore: number, limit: number): number {
    let removed = 0
    for (const rows of recent.values()) {
      const isDone = ({ key, record }: MarkRow): boolean => record.mark === 'NONE' && record.markedAt < undoneBefore && !isCovering(key)
      removed += remove(rows, isDone, limit - removed)
    }
    return removed
  }

  function deleteBusiness(business: number, limit: number): number {
    let removed = 0
    for (const tier of [recent, archived]) removed += remove(rowsOf(tier, business), () => true, limit - removed)
    const isOwn = (item: { business: number }): boolean => item.business === business
    removed += remove(counts, isOwn, limit - removed)
    removed += remove(owners, isOwn, limit - removed)
    return removed + remove(sums, isOwn, limit - removed)
  }

  function exportMarks(business: number, after: MarkKey | undefined, limit: number): MarkRow[] {
    const live = all(business).filter(({ record }) => record.mark !== 'NONE')
    const sorted = live.toSorted((a, b) => compareKeys(a.key, b.key))
    return sorted.filter(({ key }) => after === undefined || compareKeys(key, after) > 0).slice(0, limit)
  }

  function measureMarks() {
    const live = (tier: Tier): MarkRow[] =>
      [...tier.values()].flatMap((rows) => [...rows.values()].filter(({ record }) => record.mark !== 'NONE'))
    const bytes = (tier: Tier, each: number): number => [...tier.values()].reduce((sum, rows) => sum + rows.size * each, 0)
    const uncovered = live(archived).filter(({ key }) => !recent.get(key.business)?.has(keyText(key)))
    return { recent: live(recent).length, archived: uncovered.length, recentBytes: bytes(recent, 100), archivedBytes: bytes(archived, 12) }
  }

  function measureBusiness(business: number): BusinessSize {
    const own = (items: Iterable<{ business: number; oid?: string }>) => [...items].filter((item) => item.business === business)
    const subjects = new Set([...own(counts.values()), ...own(owners.values())].map(({ oid }) => oid))
    return {
      rows: rowsOf(recent, business).size,
      blocks: rowsOf(archived, business).size,
      subjects: subjects.size,
      owners: own(sums.values()).length,
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

  return {
    applyMarks: (rows, moved) => run('applyMarks', [rows, moved], () => applyMarks(rows, moved)),
    getOffsets: (stream) => run('getOffsets', [stream], () => [...offsets.values()].filter((item) => item.stream === stream)),
    listOutbox: (limit, after = 0) =>
      run('listOutbox', [limit, after], () =>
        [...outbox.values()]
          .filter(({ number }) => number > after)
          .slice(0, limit)
          .map(copyOf),
      ),
    listOutboxNumbers: (limit) => run('listOutboxNumbers', [limit], () => [...outbox.keys()].slice(0, limit)),
    dropOutbox: (numbers) => run('dropOutbox', [numbers], () => numbers.forEach((number) => outbox.delete(number))),
    getMarkMany: (keys) => run('getMarkMany', [keys], () => keys.map((key) => find(key)?.record)),
    listMarks: (viewer, business, marks, before, limit) =>
      run('listMarks', [viewer, business, marks, before, limit], () => listMarks(viewer, business, marks, before, limit)),
    listLikers: (subject, before, limit) => run('listLikers', [subject, before, limit], () => listLikers(subject, before, limit)),
    getCountsMany: (subjects) => run('getCountsMany', [subjects], () => subjects.map(countsOf)),
    getOwnerSums: (asked) => run('getOwnerSums', [asked], () => asked.map(sumOf)),
    registerSubjects: (registrations) => run('registerSubjects', [registrations], () => registerSubjects(registrations)),
    getOwners: (subjects) => run('getOwners', [subjects], () => subjects.map((subject) => owners.get(subjectText(subject))?.owner)),
    recount: (subjects) =>
      run('recount', [subjects], () =>
        subjects.flatMap(({ business, oid }) => {
          const [kept, rows] = [countsOf({ business, oid }), countRows({ business, oid })]
          return kept.likes === rows.likes && kept.dislikes === rows.dislikes ? [] : [{ business, oid, counts: kept, rows }]
        }),
      ),
    recountOwners: (asked) =>
      run('recountOwners', [asked], () =>
        asked.flatMap((owner) => {
          const [sum, summed] = [sumOf(owner), sumLikes(owner)]
          return sum.likes === summed ? [] : [{ ...sum, summed }]
        }),
      ),
    listSubjects: (business, after, limit) =>
      run('listSubjects', [business, after, limit], () => byId(counts.values(), business, ({ oid }) => oid, after, limit)),
    listMarkedSubjects: (business, after, limit) =>
      run('listMarkedSubjects', [business, after, limit], () => {
        const marked = [...new Set(all(business).flatMap(({ key, record }) => (record.mark === 'NONE' ? [] : [key.oid])))]
        return marked
          .filter((oid) => after === undefined || compareIds(oid, after) > 0)
          .toSorted(compareIds)
          .slice(0, limit)
      }),
    listOwners: (business, after, limit) =>
      run('listOwners', [business, after, limit], () => byId(sums.values(), business, ({ owner }) => owner, after, limit)),
    archiveMarks: (markedBefore, limit) => run('archiveMarks', [markedBefore, limit], () => archiveMarks(markedBefore, limit)),
    purgeUndone: (undoneBefore, limit) => run('purgeUndone', [undoneBefore, limit], () => purgeUndone(undoneBefore, limit)),
    exportMarks: (business, after, limit) => run('exportMarks', [business, after, limit], () => exportMarks(business, after, limit)),
    listRegistrations: (business, after, limit) =>
      run('listRegistrations', [business, after, limit], () => byId(owners.values(), business, ({ oid }) => oid, after, limit)),
    measureBusiness: (business) => run('measureBusiness', [business], () => measureBusiness(business)),
    deleteBusiness: (business, limit) => run('deleteBusiness', [business, limit], () => deleteBusiness(business, limit)),
    measureMarks: () => run('measureMarks', [], measureMarks),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

/** A copy, as a store would read it: a change of it does not change the store. */
function copyOf({ number, transitions, counts, owners }: MarkChanges): MarkChanges {
  return {
    number,
    transitions: transitions.map(({ key, old, record }) => ({ key: { ...key }, old, record: { ...record } })),
    counts: counts.map((item) => ({ ...item, counts: { ...item.counts } })),
    owners: owners.map((sum) => ({ ...sum })),
  }
}

function subjectText({ business, oid }: Subject): string {
  return `${business}:${oid}`
}

function ownerText({ business, owner }: Owner): string {
  return `${business}:${owner}`
}

function put(tier: Tier, row: MarkRow): void {
  const rows = tier.get(row.key.business)
  if (rows === undefined) tier.set(row.key.business, new Map([[keyText(row.key), row]]))
  else rows.set(keyText(row.key), row)
}

function receive(received: Map<string, Owner & { likes: number }>, { business, owner }: Owner, likes: number): void {
  const text = ownerText({ business, owner })
  received.set(text, { business, owner, likes: likes + (received.get(text)?.likes ?? 0) })
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

function remove<K, V>(map: Map<K, V>, matches: (value: V) => boolean, limit: number): number {
  const gone = [...map].filter(([, value]) => matches(value)).slice(0, Math.max(0, limit))
  for (const [key] of gone) map.delete(key)
  return gone.length
}
