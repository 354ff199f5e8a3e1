/** Rows of marks for the suite of the record store, and all reads of a business, for comparisons. */
import type { BusinessNumber, Mark, MarkKey, MarkPlace, MarkRecord, Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { AppliedMarks, MarkRecords, MarkRow, StreamOffset } from '../../../subgraphs/thumbup/stores/record-store.ts'

let lastBusiness = 1_000 + Math.floor(Math.random() * 50_000)
let lastVersion = Date.now() * 1024

/** A business that no other test has used. */
export function freshBusiness(): BusinessNumber {
  lastBusiness += 1
  return lastBusiness
}

/** A row with a version newer than all before it, unless one is given. */
export function markRow(business: BusinessNumber, viewer: ViewerId, oid: string, mark: Mark, markedAt: number, version?: number): MarkRow {
  lastVersion += 1
  return { key: { viewer, business, oid }, record: { mark, markedAt, version: version ?? lastVersion } }
}

export async function apply(store: MarkRecords, rows: readonly MarkRow[], offsets: readonly StreamOffset[] = []): Promise<AppliedMarks> {
  return store.applyMarks(rows, offsets)
}

/** The changed marks of the transitions as `viewer oid OLD→NEW`. */
export function transitionsOf({ changes }: AppliedMarks): string[] {
  return (changes?.transitions ?? []).map(({ key, old, record }) => `${key.viewer} ${key.oid} ${old}→${record.mark}`).toSorted()
}

export async function countsOf(store: MarkRecords, subject: Subject): Promise<SubjectCounts> {
  const [counts] = await store.getCountsMany([subject])
  if (counts === undefined) throw new Error('a subject without an answer')
  return counts
}

/** [likes, dislikes] */
export async function countedOf(store: MarkRecords, subject: Subject): Promise<[number, number]> {
  const { likes, dislikes } = await countsOf(store, subject)
  return [likes, dislikes]
}

export async function recordOf(store: MarkRecords, key: MarkKey): Promise<MarkRecord | undefined> {
  return (await store.getMarkMany([key]))[0]
}

export async function likedOids(
  store: MarkRecords,
  viewer: ViewerId,
  business: BusinessNumber,
  marks: Mark[] = ['LIKE'],
): Promise<string[]> {
  return (await store.listMarks(viewer, business, marks, undefined, 1_000)).map(({ oid }) => oid)
}

export async function likersOf(store: MarkRecords, subject: Subject): Promise<string[]> {
  return (await store.listLikers(subject, undefined, 1_000)).map(({ id }) => id)
}

/** Archives until nothing is left to archive. Returns the number of archived marks. */
export async function archiveAll(store: MarkRecords, markedBefore: number, limit = 1_000): Promise<number> {
  return repeat(limit, () => store.archiveMarks(markedBefore, limit))
}

export async function purgeAllUndone(store: MarkRecords, undoneBefore: number, limit = 1_000): Promise<number> {
  return repeat(limit, () => store.purgeUndone(undoneBefore, limit))
}

/** Repeats the step until it returns zero. Fails if a step exceeds the limit. */
export async function repeat(limit: number, step: () => Promise<number>): Promise<number> {
  let gone = 0
  for (;;) {
    const went = await step()
    if (went > limit) throw new Error(`a step limited to ${limit} took ${went}`)
    if (went === 0) return gone
    gone += went
  }
}

/** All pages of a list. Fails if a page exceeds `limit`. */
export async function allPages<T>(limit: number, next: (last: T | undefined) => Promise<T[]>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await next(all.at(-1))
    if (page.length > limit) throw new Error(`a page of ${limit} has ${page.length}`)
    all.push(...page)
    if (page.length < limit) return all
  }
}

export function exportAll(store: MarkRecords, business: BusinessNumber, limit = 7): Promise<MarkRow[]> {
  return allPages<MarkRow>(limit, (last) => store.exportMarks(business, last?.key, limit))
}

/** One business of the suite, with the ids that may be read. */
export type Scene = { business: BusinessNumber; viewers: readonly ViewerId[]; oids: readonly string[]; owners: readonly ViewerId[] }

const KINDS: readonly Mark[][] = [['LIKE'], ['DISLIKE'], ['LIKE', 'DISLIKE'], ['NONE'], ['NONE', 'LIKE', 'DISLIKE'], []]

/** Every read of the port for the whole scene; lists in pages of `limit`. */
export async function readScene(store: MarkRecords, { business, viewers, oids, owners }: Scene, limit = 3): Promise<unknown> {
  const subjects = oids.map((oid) => ({ business, oid }))
  const asked = owners.map((owner) => ({ business, owner }))
  const keys = viewers.flatMap((viewer) => oids.map((oid) => ({ viewer, business, oid })))
  const lists = viewers.flatMap((viewer) => KINDS.map((marks) => ({ viewer, marks })))
  return {
    marks: await store.getMarkMany(keys),
    lists: await Promise.all(
      lists.map(({ viewer, marks }) =>
        allPages<MarkRecord & { oid: string }>(limit, (last) => store.listMarks(viewer, business, marks, markPlace(last), limit)),
      ),
    ),
    likers: await Promise.all(subjects.map((subject) => allPages<MarkPlace>(limit, (last) => store.listLikers(subject, last, limit)))),
    counts: await store.getCountsMany(subjects),
    owners: await store.getOwners(subjects),
    sums: await store.getOwnerSums(asked),
    subjects: await allPages<Subject>(limit, (last) => store.listSubjects(business, last?.oid, limit)),
    listedOwners: await allPages<{ owner: ViewerId }>(limit, (last) => store.listOwners(business, last?.owner, limit)),
    drift: await store.recount(subjects),
    ownersDrift: await store.recountOwners(asked),
    exported: await exportAll(store, business, limit),
  }
}

function markPlace(last: (MarkRecord & { oid: string }) | undefined): MarkPlace | undefined {
  return last === undefined ? undefined : { id: last.oid, markedAt: last.markedAt }
}

/** The value without the versions of marks, or of counts and sums. */
export function withoutVersions(kind: 'mark versions' | 'count versions', value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutVersions(kind, item))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([name]) => name !== 'version' || (kind === 'mark versions') !== 'markedAt' in value)
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutVersions(kind, field)]))
}
