/**
 * Port: the record store of marks, where counts are exact: `count = number of rows in that state`, always, because rows and
 * counts change in one transaction that reads the old rows.
 *
 * Rows live in two tiers, recent and archived (compact blocks, `subgraphs/thumbup/archive/blocks.ts`); no reader sees the difference, but
 * that an archived mark reads with version 0 (the blocks keep none): of equal times whatever comes later wins over it.
 * Every adapter passes `test/contracts/thumbup/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`; a call that failed so was executed as a whole or not at all, and may be repeated.
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

/** How far a stream (the flushes of a log) has been persisted in a partition; opaque to the store, which keeps the newest. */
export type StreamOffset = { stream: string; partition: number; offset: number }

/** A row that really changed state. Its id, for whoever must drop repetitions, is key + version. */
export type MarkTransition = { key: MarkKey; old: Mark; record: MarkRecord }

/** What one transaction changed, kept in the store until the outgoing events are in the log. */
export type MarkChanges = {
  /** Grows with every transaction that changed something. */
  number: number
  /** In no order. */
  transitions: MarkTransition[]
  /**
   * Each subject of a transition once, with a new version even if its transitions add up to nothing: its likers are others.
   * So are those of a subject that was liked again at a later time, which is no transition: its version is new as well.
   */
  counts: CountedSubject[]
  /** Those whose likes have changed. */
  owners: OwnerSum[]
}

export type AppliedMarks = {
  /** Per row, in order: the row as it is stored now, which may be newer than what was given. */
  stored: MarkRecord[]
  /** Undefined if no row changed state, and none was liked again. */
  changes: MarkChanges | undefined
}

export type Registration = Subject & { owner: ViewerId }

/** What is stored of a business: all of it is what `deleteBusiness` removes. */
export type BusinessSize = {
  /** Rows, tombstones included. */
  rows: number
  /** Blocks of the archive, of both ends. */
  blocks: number
  /** Subjects that were counted or registered. */
  subjects: number
  /** Owners that ever received something. */
  owners: number
}

export type Drift = Subject & { counts: SubjectCounts; rows: Pick<SubjectCounts, 'likes' | 'dislikes'> }

export interface MarkRecords {
  /** Reads that this process may have in flight: its connections. Absent: the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /**
   * One transaction: reads the old rows (both tiers), writes each row that `winsOver` its old one, adds the summed
   * transitions to counts (one update per subject) and to owners' sums, keeps the changes for the outbox, and moves the
   * offsets. Keys are distinct. A repetition finds no transition.
   */
  applyMarks(rows: readonly MarkRow[], offsets: readonly StreamOffset[]): Promise<AppliedMarks>
  /** The persisted offset per partition of a stream. */
  getOffsets(stream: string): Promise<StreamOffset[]>

  /** Changes whose events may not be in the log yet, oldest first; only those with a number above `after`. Each may be megabytes. */
  listOutbox(limit: number, after?: number): Promise<MarkChanges[]>
  /** Their numbers alone, oldest first. */
  listOutboxNumbers(limit: number): Promise<number[]>
  /** Their events are in the log. */
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
  /** In order; zeros with version 0 where nothing was ever counted. */
  getCountsMany(subjects: readonly Subject[]): Promise<SubjectCounts[]>
  /** In order; 0 with version 0 where nothing was ever received. */
  getOwnerSums(owners: readonly { business: BusinessNumber; owner: ViewerId }[]): Promise<OwnerSum[]>

  /**
   * Says whose the subjects are (each once), and moves what they have received to the new owners' sums, which are kept for the
   * outbox as well. One transaction. Returns the sums that it changed.
   */
  registerSubjects(registrations: readonly Registration[]): Promise<OwnerSum[]>
  getOwners(subjects: readonly Subject[]): Promise<(ViewerId | undefined)[]>

  /** Counts the rows of these subjects, in one snapshot with their counts. Only those that differ come back. */
  recount(subjects: readonly Subject[]): Promise<Drift[]>
  /** Owners' sums that differ from the sum of their subjects' likes, of these owners, in one snapshot. */
  recountOwners(owners: readonly { business: BusinessNumber; owner: ViewerId }[]): Promise<(OwnerSum & { summed: number })[]>
  /** Subjects of which something was ever counted (version > 0), by id, after `after`. For the reconciler. */
  listSubjects(business: BusinessNumber, after: string | undefined, limit: number): Promise<CountedSubject[]>
  /**
   * Subjects of which a row or an archived mark is stored, whatever is counted of them, by id, after `after`; of tombstones alone maybe
   * none. At most `limit`, maybe fewer than there are; none = done.
   */
  listMarkedSubjects(business: BusinessNumber, after: string | undefined, limit: number): Promise<string[]>
  /** Owners that ever received something (version > 0), by id, after `after`. */
  listOwners(business: BusinessNumber, after: string | undefined, limit: number): Promise<OwnerSum[]>

  /**
   * Moves up to `limit` rows last marked before this moment into blocks. A tombstone takes the mark that it covers out of its
   * block, and stays until `purgeUndone`. Returns how many went or were uncovered so, maybe fewer than there are; 0 = done.
   */
  archiveMarks(markedBefore: number, limit: number): Promise<number>
  /** Removes up to `limit` tombstones undone before this moment that cover nothing archived. Returns how many went; 0 = done. */
  purgeUndone(undoneBefore: number, limit: number): Promise<number>

  /** All live marks of a business in order of viewer and oid, after `after`: for export. */
  exportMarks(business: BusinessNumber, after: MarkKey | undefined, limit: number): Promise<MarkRow[]>
  /** All registrations of a business by oid, after `after`: for export. */
  listRegistrations(business: BusinessNumber, after: string | undefined, limit: number): Promise<Registration[]>
  /** What is left of a business; may be slow. */
  measureBusiness(business: BusinessNumber): Promise<BusinessSize>
  /** Removes up to `limit` rows or blocks of a deleted business, its counts, owners and registrations included. Returns how many went; 0 = done. */
  deleteBusiness(business: BusinessNumber, limit: number): Promise<number>
  /** Live marks, and the bytes that rows and blocks take, for operators and tests; may be slow. */
  measureMarks(): Promise<{ recent: number; archived: number; recentBytes: number; archivedBytes: number }>
  check(): Promise<void>
  close(): Promise<void>
}
