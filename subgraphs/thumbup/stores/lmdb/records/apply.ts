/** Writes rows, and finds and counts transitions: the transactions of `applyMarks` and `registerSubjects`. */
import type { BusinessNumber, Mark, MarkKey, MarkRecord, OwnerSum, Subject, ViewerId, CountedSubject } from '../../../../../core/domain.ts'
import { movesLike, transitionOf, winsOver } from '../../../model/merge.ts'
import type { MarkRow, MarkTransition, Registration } from '../../record-store.ts'
import { COVERED, ROW, listedKey, makeMarkShelf, otherKey, plainMarkKey } from './keys.ts'
import { findMarks, readCounts, readSum, type MarkTables } from './tables.ts'
import { encodeCounts, encodeMark, encodeRow, encodeSum } from './values.ts'

const NO_VALUE = Buffer.allocUnsafeSlow(0)

/** `moved`: subjects that were liked again. */
export type AppliedRows = { stored: MarkRecord[]; transitions: MarkTransition[]; moved: Subject[] }

export function applyRows(tables: MarkTables, rows: readonly MarkRow[]): AppliedRows {
  const olds = findMarks(
    tables,
    rows.map(({ key }) => key),
  )
  const transitions: MarkTransition[] = []
  const moved: Subject[] = []
  const stored = rows.map(({ key, record }, at) => {
    const old = olds[at]
    if (old !== undefined && !winsOver(record, old.record)) return old.record
    writeRow(tables, key, record, old?.covers ?? 'NONE', old?.isRecent === true ? old.record : undefined)
    const oldMark = old?.record.mark ?? 'NONE'
    if (oldMark !== record.mark) transitions.push({ key, old: oldMark, record })
    else if (movesLike(record, old?.record)) moved.push({ business: key.business, oid: key.oid })
    return record
  })
  return { stored, transitions, moved }
}

/** `old`: the replaced recent row, if any. The new row covers the same archived mark. */
function writeRow(tables: MarkTables, key: MarkKey, record: MarkRecord, covers: Mark, old: MarkRecord | undefined): void {
  const { viewer, business, oid } = key
  const [byViewer, bySubject] = [makeMarkShelf(business, viewer), makeMarkShelf(business, oid)]
  void tables.likes.put(otherKey(byViewer, ROW, oid), encodeRow({ record, covers }))
  if (old === undefined && covers !== 'NONE') void tables.likers.put(otherKey(bySubject, COVERED, viewer), encodeMark(covers))
  if (old?.mark === record.mark && old.markedAt === record.markedAt) return
  if (old !== undefined) unlist(tables, key, old)
  void tables.likes.put(listedKey(byViewer, record.mark, record.markedAt, oid), NO_VALUE)
  if (record.mark !== 'NONE') void tables.likers.put(listedKey(bySubject, record.mark, record.markedAt, viewer), NO_VALUE)
}

/** Removes a row from the lists. */
export function unlist(tables: MarkTables, { viewer, business, oid }: MarkKey, { mark, markedAt }: MarkRecord): void {
  void tables.likes.remove(listedKey(makeMarkShelf(business, viewer), mark, markedAt, oid))
  if (mark !== 'NONE') void tables.likers.remove(listedKey(makeMarkShelf(business, oid), mark, markedAt, viewer))
}

type Received = Map<string, { business: BusinessNumber; owner: ViewerId; likes: number }>

/** One change of counts per subject, even of its version alone, and one change of the sum per owner. */
export function countTransitions(
  tables: MarkTables,
  transitions: readonly MarkTransition[],
  moved: readonly Subject[],
): { counts: CountedSubject[]; owners: OwnerSum[] } {
  const deltas = new Map<string, Subject & { likes: number; dislikes: number }>()
  for (const { key, old, record } of transitions) {
    const { likes, dislikes } = transitionOf(old, record.mark)
    const text = `${key.business}:${key.oid}`
    const known = deltas.get(text)
    if (known === undefined) {
      deltas.set(text, { business: key.business, oid: key.oid, likes, dislikes })
    } else {
      known.likes += likes
      known.dislikes += dislikes
    }
  }
  for (const { business, oid } of moved) {
    const text = `${business}:${oid}`
    if (!deltas.has(text)) deltas.set(text, { business, oid, likes: 0, dislikes: 0 })
  }
  const received: Received = new Map()
  const counted = [...deltas.values()].map(({ business, oid, likes, dislikes }): CountedSubject => {
    const { counts: before, owner } = readCounts(tables, { business, oid })
    const counts = { likes: before.likes + likes, dislikes: before.dislikes + dislikes, version: before.version + 1 }
    void tables.counts.put(plainMarkKey(business, oid), encodeCounts({ counts, owner }))
    if (owner !== undefined) receive(received, business, owner, likes)
    return { business, oid, counts }
  })
  return { counts: counted, owners: addReceived(tables, received) }
}

/** Returns the changed sums. */
export function registerAll(tables: MarkTables, registrations: readonly Registration[]): OwnerSum[] {
  const received: Received = new Map()
  for (const { business, oid, owner } of registrations) {
    const held = readCounts(tables, { business, oid })
    if (held.owner === owner) continue
    if (held.owner !== undefined) {
      receive(received, business, held.owner, -held.counts.likes)
      void tables.owned.remove(ownedKey(business, held.owner, oid))
    }
    receive(received, business, owner, held.counts.likes)
    void tables.owned.put(ownedKey(business, owner, oid), NO_VALUE)
    void tables.counts.put(plainMarkKey(business, oid), encodeCounts({ counts: held.counts, owner }))
  }
  return addReceived(tables, received)
}

/** Built like a row's key: the owner's shelf, then the oid. */
function ownedKey(business: BusinessNumber, owner: ViewerId, oid: string): Buffer {
  return otherKey(makeMarkShelf(business, owner), ROW, oid)
}

function receive(received: Received, business: BusinessNumber, owner: ViewerId, likes: number): void {
  const text = `${business}:${owner}`
  received.set(text, { business, owner, likes: likes + (received.get(text)?.likes ?? 0) })
}

function addReceived(tables: MarkTables, received: Received): OwnerSum[] {
  return [...received.values()].flatMap(({ business, owner, likes }) => {
    if (likes === 0) return []
    const before = readSum(tables, { business, owner })
    const sum = { ...before, likes: before.likes + likes, version: before.version + 1 }
    void tables.owners.put(plainMarkKey(business, owner), encodeSum(sum))
    return [sum]
  })
}
