/**
 * Port: the record store, the final place of everything acknowledged. The job writes it in large batches. The service reads it only for
 * data beyond the hot store.
 *
 * Every adapter passes `test/contracts/history/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`.
 */
import type {
  BusinessNumber,
  Place,
  ProgressKey,
  ProgressRecord,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
  ProgressRow,
} from '../../../core/domain.ts'

export type SettingsRow = { viewer: ViewerId; settings: ViewerSettings }

export interface RecordStore {
  /** Maximum number of reads in flight from this process: its connections. If absent, the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /** Merges each row into the stored one (`mergeProgress`), so that every repetition and order ends in the same rows. Keys are distinct. */
  putProgress(rows: readonly ProgressRow[]): Promise<void>
  /** Replaces settings whose version is not newer; `clearedAt` never moves back. Viewers are distinct. */
  putSettings(rows: readonly SettingsRow[]): Promise<void>
  /** Multi-get in key order, tombstones included. */
  getProgressMany(keys: readonly ProgressKey[]): Promise<(ProgressRecord | undefined)[]>
  /** In order; undefined if nothing was ever set. */
  getSettingsMany(viewers: readonly ViewerId[]): Promise<(ViewerSettings | undefined)[]>
  /** Newest first, at most `limit`, strictly after `before`; no tombstones. The caller drops cleared rows. */
  listProgress(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): Promise<TimelineEntry[]>
  /**
   * Removes up to `limit` rows of this viewer and business viewed at or before `clearedAt`. Returns the number removed; fewer than `limit`
   * = done.
   */
  purgeCleared(viewer: ViewerId, business: BusinessNumber, clearedAt: number, limit: number): Promise<number>
  /** Removes up to `limit` rows last written before this moment. Returns the number removed; 0 = done. */
  purgeExpired(writtenBefore: number, limit: number): Promise<number>
  /**
   * All rows in the order of viewer, business and oid, tombstones and cleared rows included, after the key `after`, at most `limit`; none =
   * done. With a viewer: only theirs. For export.
   */
  listAllProgress(after: ProgressKey | undefined, limit: number, viewer?: ViewerId): Promise<ProgressRow[]>
  /** Settings of all viewers in the order of their ids, after the viewer `after`, at most `limit`; none = done. For export. */
  listAllSettings(after: ViewerId | undefined, limit: number): Promise<SettingsRow[]>
  /** Rows that are not tombstones. For operators and tests; may be slow. */
  countProgress(): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
