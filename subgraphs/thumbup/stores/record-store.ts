/**
 * Port: the record store of marks, with exact counts: a count always equals the number of rows with that mark. Rows and counts change in
 * one transaction that reads the old rows.
 *
 * Rows live in two tiers, recent and archived (compact blocks, `subgraphs/thumbup/archive/blocks.ts`). Readers see one difference: an
 * archived mark has version 0, since blocks keep none. Of equal times, any later mark therefore wins over it.
 *
 * Every adapter passes `test/contracts/thumbup/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`. A failed call was executed completely or not at all, and may be repeated.
 */
import type {
  BusinessNumber,
  Mark,
  MarkEntry,
  MarkKey,
  MarkPlace,
  MarkRecord,
  OwnerSum,
  Subject,
  SubjectCounts,
  ViewerId,
  CountedSubject,
} from '../../../core/domain.ts'

export type MarkRow = { key: MarkKey; record: MarkRecord }

/** The persisted offset of a stream in a partition. The store keeps the newest, and does not interpret it. */
export type StreamOffset = { stream: string; partition: number; offset: number }

/** A row that changed its mark. Key + version is its id, for consumers that drop repetitions. */
export type MarkTransition = { key: MarkKey; old: Mark; record: MarkRecord }

/** The changes of one transaction, kept in the store until the outgoing events are in the log. */
export type MarkChanges = {
  /** Grows with every transaction that changed a mark. */
  number: number
  /** In no order. */
  transitions: MarkTransition[]
  /**
   * Each subject of a transition once, with a new version even if its transitions add up to zero, since its likers changed. A subject that
   * was liked again at a later time has no transition, but also gets a new version.
   */
  counts: CountedSubject[]
  /** Owners whose likes changed. */
  owners: OwnerSum[]
}

export type AppliedMarks = {
  /** Per row, in order: the stored row, which may be newer than the given one. */
  stored: MarkRecord[]
  /** Undefined if no row changed its mark, and no subject was liked again. */
  changes: MarkChanges | undefined
}

export type Registration = Subject & { owner: ViewerId }

/** The stored data of a business. `deleteBusiness` removes all of it. */
export type BusinessSize = {
  /** Rows, tombstones included. */
  rows: number
  /** Blocks of the archive, of viewers and of subjects. */
  blocks: number
  /** Subjects that were counted or registered. */
  subjects: number
  /** Owners that ever received a like. */
  owners: number
}

export type Drift = Subject & { counts: SubjectCounts; rows: Pick<SubjectCounts, 'likes' | 'dislikes'> }

export interface MarkRecords {
  /** The most concurrent reads of this process: its connections. Absent if the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /**
   * Applies the rows in one transaction. It reads the old rows of both tiers, and writes each row that `winsOver` its old one. It adds the
   * summed transitions to the counts, with one update per subject, and to owners' sums. It keeps the changes for the outbox and moves the
   * offsets. Keys are distinct. A repetition finds no transition.
   */
  applyMarks(rows: readonly MarkRow[], offsets: readonly StreamOffset[]): Promise<AppliedMarks>
  /** The persisted offset per partition of a stream. */
  getOffsets(stream: string): Promise<StreamOffset[]>

  /** Changes whose events may be missing in the log, with a number above `after`, oldest first. Each may have megabytes. */
  listOutbox(limit: number, after?: number): Promise<MarkChanges[]>
  /** The numbers of such changes, oldest first. */
  listOutboxNumbers(limit: number): Promise<number[]>
  /** Drops changes whose events are in the log. */
  dropOutbox(numbers: readonly number[]): Promise<void>

  /** Multi-get in key order, tombstones included. */
  getMarkMany(keys: readonly MarkKey[]): Promise<(MarkRecord | undefined)[]>
  /** A viewer's marks of these kinds, newest first, at most `limit`, strictly after `before`. */
  listMarks(
    viewer: ViewerId,
    business: BusinessNumber,
    marks: readonly Mark[],
    before: MarkPlace | undefined,
    limit: number,
  ): Promise<(MarkRecord & { oid: string })[]>
  /** A subject's likers, newest first, at most `limit`, strictly after `before`. */
  listLikers(subject: Subject, before: MarkPlace | undefined, limit: number): Promise<MarkEntry[]>
  /** In order. Zeros with version 0 for uncounted subjects. */
  getCountsMany(subjects: readonly Subject[]): Promise<SubjectCounts[]>
  /** In order. 0 with version 0 for owners that never received a like. */
  getOwnerSums(owners: readonly { business: BusinessNumber; owner: ViewerId }[]): Promise<OwnerSum[]>

  /**
   * Registers the owners of distinct subjects, and moves received likes to the new owners' sums, in one transaction. The sums also go to
   * the outbox. Returns the changed sums.
   */
  registerSubjects(registrations: readonly Registration[]): Promise<OwnerSum[]>
  getOwners(subjects: readonly Subject[]): Promise<(ViewerId | undefined)[]>

  /** Counts the rows of these subjects in one snapshot with their counts. Returns the subjects that differ. */
  recount(subjects: readonly Subject[]): Promise<Drift[]>
  /** Compares the sums of these owners with their subjects' likes, in one snapshot. Returns the owners that differ. */
  recountOwners(owners: readonly { business: BusinessNumber; owner: ViewerId }[]): Promise<(OwnerSum & { summed: number })[]>
  /** Counted subjects (version > 0), by id, after `after`. For the reconciler. */
  listSubjects(business: BusinessNumber, after: string | undefined, limit: number): Promise<CountedSubject[]>
  /**
   * Subjects with a stored row or archived mark, counted or not, by id, after `after`. Subjects with tombstones alone may be left out.
   * Returns at most `limit`, possibly fewer than exist; none = done.
   */
  listMarkedSubjects(business: BusinessNumber, after: string | undefined, limit: number): Promise<string[]>
  /** Owners that ever received a like (version > 0), by id, after `after`. */
  listOwners(business: BusinessNumber, after: string | undefined, limit: number): Promise<OwnerSum[]>

  /**
   * Moves up to `limit` rows last marked before this moment into blocks. A tombstone removes the archived mark that it covers, and stays
   * until `purgeUndone`. Returns the number of rows moved or uncovered, possibly fewer than exist; 0 = done.
   */
  archiveMarks(markedBefore: number, limit: number): Promise<number>
  /**
   * Removes up to `limit` tombstones that were undone before this moment and cover no archived mark. Returns the number removed; 0 = done.
   */
  purgeUndone(undoneBefore: number, limit: number): Promise<number>

  /** All live marks of a business in order of viewer and oid, after `after`: for export. */
  exportMarks(business: BusinessNumber, after: MarkKey | undefined, limit: number): Promise<MarkRow[]>
  /** All registrations of a business by oid, after `after`: for export. */
  listRegistrations(business: BusinessNumber, after: string | undefined, limit: number): Promise<Registration[]>
  /** The remaining data of a business. May be slow. */
  measureBusiness(business: BusinessNumber): Promise<BusinessSize>
  /**
   * Removes up to `limit` rows or blocks of a deleted business, with its counts, owners and registrations. Returns the number removed; 0 =
   * done.
   */
  deleteBusiness(business: BusinessNumber, limit: number): Promise<number>
  /** Live marks, and the bytes of rows and blocks, for operators and tests. May be slow. */
  measureMarks(): Promise<{ recent: number; archived: number; recentBytes: number; archivedBytes: number }>
  check(): Promise<void>
  close(): Promise<void>
}
