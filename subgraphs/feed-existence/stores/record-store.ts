/**
 * Port: the record store of feed existence. It has one filter per viewer and month, a blob in the format of
 * `subgraphs/feed-existence/filter/filter.ts`. Writers read, fold, and write under a version check, so that two workers cannot lose each
 * other's work. The service reads filters and caches them.
 *
 * The store does not judge the content of a row. A row that the disk has damaged is a filter with the bytes that are left, and a version
 * like any other. It can therefore be quarantined or overwritten, and affects no other row.
 *
 * Every adapter passes `test/contracts/feed-existence/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`; every call may be repeated.
 */
import type { Month, ViewerId } from '../../../core/domain.ts'

/** Maximum size of a filter: 3 MiB. */
export const FILTER_BYTES_MAX = 3 * 2 ** 20

/**
 * Month 0 has no plays. It is used for notes beside a viewer's filters (`subgraphs/feed-existence/migration/progress.ts`), stored like
 * them.
 */
export type FilterKey = { viewer: ViewerId; month: Month }

/**
 * `version` grows with every write of the filter; 0 means that it does not exist. A filter that is rebuilt after a quarantine continues
 * above all earlier versions, so that a writer with an old version is refused.
 */
export type StoredFilter = { filter: Buffer; version: number }

export type FilterWrite = FilterKey & {
  /** 1 byte to FILTER_BYTES_MAX. */
  filter: Buffer
  /** The version that was read, 0 if there was none. The write is refused if another version is stored now. */
  expected: number
  /** Milliseconds since the epoch after which it may be purged. Kept from the first write of a filter, also over a quarantine. */
  expiresAt: number
}

/** A filter as exports read it. */
export type FilterRow = FilterKey & StoredFilter & { expiresAt: number }

/** A quarantined filter with its bytes. */
export type QuarantinedFilter = FilterKey & StoredFilter & { reason: string }

export interface SeenRecords {
  /** Maximum number of reads in flight from this process: its connections. If absent, the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /**
   * Multi-get in order. Each filter is as it was at some moment of the call, but not all at the same moment. Expired filters are returned
   * until they are purged.
   */
  getFilters(keys: readonly FilterKey[]): Promise<(StoredFilter | undefined)[]>
  /** All stored months of these viewers, in order of viewers, each by month. */
  listFilters(viewers: readonly ViewerId[]): Promise<(StoredFilter & { month: Month })[][]>
  /**
   * All filters, notes of month 0 included, in the order of viewer and month, after the key `after`, at most `limit`; none = done.
   * With a viewer: only theirs. For export.
   */
  listAllFilters(after: FilterKey | undefined, limit: number, viewer?: ViewerId): Promise<FilterRow[]>
  /**
   * Writes each filter whose expected version is the stored one. True for each write that was applied, in order. Keys are distinct. Each
   * filter is written completely or not at all; a call that rejects may have written some. A repeated write is refused: the caller then
   * reads, folds and writes again.
   */
  putFilters(writes: readonly FilterWrite[]): Promise<boolean[]>
  /**
   * Quarantines a filter that cannot be read. It is kept for operators until it expires, with the first 250 characters of the reason.
   * `rebuilt` replaces it in the same step, so that no crash leaves readers with less than is known of the month. Without `rebuilt`,
   * readers find no filter and write with expected version 0. Does nothing if another version is stored now. True if it was quarantined.
   */
  quarantineFilter(key: FilterKey, version: number, reason: string, rebuilt?: Buffer): Promise<boolean>
  /** Up to `limit` quarantined filters that are not purged yet, in any order; only those of `viewer`, if given. */
  listQuarantined(limit: number, viewer?: ViewerId): Promise<QuarantinedFilter[]>
  /** The number of quarantined filters that are not purged yet. */
  countQuarantined(): Promise<number>
  /**
   * Removes up to `limit` filters that expired at or before this moment, with their quarantined copies. Returns the number removed; 0 =
   * done. A purged filter begins again at version 1: months expire long after their last accepted play.
   */
  purgeExpired(expiredBefore: number, limit: number): Promise<number>
  /**
   * The number of filters that expire per day (days since the epoch), by day, and the bytes of all. For operators and tests; may be slow.
   * Excludes month 0, and may exclude rows that cannot be read.
   */
  measureFilters(): Promise<{ filters: number; bytes: number; expiring: { day: number; filters: number }[] }>
  check(): Promise<void>
  close(): Promise<void>
}
