/** Counts of subjects and sums of owners in the model of the record store, and the changes that the outbox announces. */
import type { CountedSubject, OwnerSum, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import { winsOver, transitionOf } from '../../../subgraphs/thumbup/model/merge.ts'
import type { AppliedMarks, MarkChanges, MarkRow, MarkTransition, StreamOffset } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { allRows, find, put, type MarkRecordsState, type Owner } from './record-rows.ts'

export function countsOf({ counts }: MarkRecordsState, subject: Subject): SubjectCounts {
  return counts.get(subjectText(subject))?.counts ?? { likes: 0, dislikes: 0, version: 0 }
}

export function sumOf({ sums }: MarkRecordsState, { business, owner }: Owner): OwnerSum {
  return sums.get(ownerText({ business, owner })) ?? { business, owner, likes: 0, version: 0 }
}

export function ownerOf({ owners }: MarkRecordsState, subject: Subject): ViewerId | undefined {
  return owners.get(subjectText(subject))?.owner
}

export function applyMarks(state: MarkRecordsState, rows: readonly MarkRow[], moved: readonly StreamOffset[]): AppliedMarks {
  const transitions: MarkTransition[] = []
  const likedAgain: Subject[] = []
  const stored = rows.map(({ key, record }) => {
    const old = find(state, key)?.record
    if (state.faults.increments === true) transitions.push({ key, old: 'NONE', record })
    if (old !== undefined && !winsOver(record, old)) return old
    put(state.recent, { key: { ...key }, record: { ...record } })
    if (state.faults.increments === true) return record
    if ((old?.mark ?? 'NONE') !== record.mark) transitions.push({ key, old: old?.mark ?? 'NONE', record })
    else if (record.mark === 'LIKE' && record.markedAt !== old?.markedAt) likedAgain.push(key)
    return record
  })
  const { offsets } = state
  for (const { stream, partition, offset } of moved) {
    const text = `${stream}:${partition}`
    offsets.set(text, { stream, partition, offset: Math.max(offset, offsets.get(text)?.offset ?? offset) })
  }
  return { stored, changes: transitions.length + likedAgain.length === 0 ? undefined : countTransitions(state, transitions, likedAgain) }
}

function countTransitions(state: MarkRecordsState, transitions: MarkTransition[], likedAgain: readonly Subject[]): MarkChanges {
  const perSubject = new Map<string, { subject: Subject; own: MarkTransition[] }>()
  for (const subject of [...transitions.map(({ key }) => key), ...likedAgain]) perSubject.set(subjectText(subject), { subject, own: [] })
  for (const transition of transitions) perSubject.get(subjectText(transition.key))?.own.push(transition)
  const received = new Map<string, Owner & { likes: number }>()
  const counted = [...perSubject.values()].map(({ subject: { business, oid }, own }): CountedSubject => {
    const deltas = own.map(({ old, record }) => transitionOf(old, record.mark))
    const before = countsOf(state, { business, oid })
    const likes = deltas.reduce((sum, delta) => sum + delta.likes, 0)
    const dislikes = deltas.reduce((sum, delta) => sum + delta.dislikes, 0)
    const owner = state.owners.get(subjectText({ business, oid }))
    if (owner !== undefined) receive(received, owner, likes)
    return { business, oid, counts: { likes: before.likes + likes, dislikes: before.dislikes + dislikes, version: before.version + 1 } }
  })
  for (const item of counted) state.counts.set(subjectText(item), item)
  return keep(state, { transitions, counts: counted, owners: addReceived(state, received) })
}

function keep(state: MarkRecordsState, changed: Omit<MarkChanges, 'number'>): MarkChanges {
  const changes = { number: ++state.lastNumber, ...changed }
  if (state.faults.forgetsOutbox !== true) state.outbox.set(changes.number, changes)
  return copyOf(changes)
}

function addReceived(state: MarkRecordsState, received: Map<string, Owner & { likes: number }>): OwnerSum[] {
  return [...received].flatMap(([text, { business, owner, likes }]) => {
    if (likes === 0) return []
    const before = sumOf(state, { business, owner })
    const sum = { ...before, likes: before.likes + likes, version: before.version + 1 }
    state.sums.set(text, sum)
    return [sum]
  })
}

export function registerSubjects(state: MarkRecordsState, registrations: readonly (Subject & Owner)[]): OwnerSum[] {
  const moved = new Map<string, Owner & { likes: number }>()
  for (const { business, oid, owner } of registrations) {
    const text = subjectText({ business, oid })
    const { likes } = countsOf(state, { business, oid })
    const old = state.owners.get(text)
    if (old !== undefined) receive(moved, old, -likes)
    receive(moved, { business, owner }, likes)
    state.owners.set(text, { business, oid, owner })
  }
  const sums = addReceived(state, moved)
  if (sums.length > 0) keep(state, { transitions: [], counts: [], owners: sums })
  return sums
}

export function recount(state: MarkRecordsState, subjects: readonly Subject[]) {
  return subjects.flatMap(({ business, oid }) => {
    const [kept, rows] = [countsOf(state, { business, oid }), countRows(state, { business, oid })]
    return kept.likes === rows.likes && kept.dislikes === rows.dislikes ? [] : [{ business, oid, counts: kept, rows }]
  })
}

export function recountOwners(state: MarkRecordsState, asked: readonly Owner[]) {
  return asked.flatMap((owner) => {
    const [sum, summed] = [sumOf(state, owner), sumLikes(state, owner)]
    return sum.likes === summed ? [] : [{ ...sum, summed }]
  })
}

function countRows(state: MarkRecordsState, subject: Subject): Pick<SubjectCounts, 'likes' | 'dislikes'> {
  const marks = allRows(state, subject.business).flatMap(({ key, record }) => (key.oid === subject.oid ? [record.mark] : []))
  return { likes: marks.filter((mark) => mark === 'LIKE').length, dislikes: marks.filter((mark) => mark === 'DISLIKE').length }
}

function sumLikes(state: MarkRecordsState, asked: Owner): number {
  const owned = [...state.owners.values()].filter(({ business, owner }) => business === asked.business && owner === asked.owner)
  return owned.reduce((sum, subject) => sum + countsOf(state, subject).likes, 0)
}

/** A copy, as a store would read it: a change of it does not change the store. */
export function copyOf({ number, transitions, counts, owners }: MarkChanges): MarkChanges {
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

function receive(received: Map<string, Owner & { likes: number }>, { business, owner }: Owner, likes: number): void {
  const text = ownerText({ business, owner })
  received.set(text, { business, owner, likes: likes + (received.get(text)?.likes ?? 0) })
}
