/**
 * Port: the record store of what viewers have watched: one filter per viewer and month, a blob whose format is
 * `subgraphs/feed-existence/filter/filter.ts`. Written by read, fold, and write under a version check, so that two workers cannot lose each
 * other's work; read by the service, which keeps them in memory.
 *
 * What a disk has made of a row is not the store's to judge: a row that cannot be read any more is a filter whose bytes are what is
 * left of it, with a version like any other, and so it can be set aside, or written over. It holds up nothing else.
 *
 * Every adapter passes `test/contracts/feed-existence/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`; every call may be repeated.
 */
import type { Month, ViewerId } from '../../../core/domain.ts'

/** What a filter may take: 3 MiB. */
export const FILTER_BYTES_MAX = 3 * 2 ** 20

/** Month 0, in which nobody watched anything, is for what is noted beside a viewer's filters (`subgraphs/feed-existence/migration/progress.ts`); stored like them. */
export type FilterKey = { viewer: ViewerId; month: Month }

/**
 * `version` grows with every write of the filter; 0 is that of one that does not exist. One that is rebuilt after a quarantine
 * goes on with a higher one than it ever had, so that whoever had read the old one is refused.
 */
export type StoredFilter = { filter: Buffer; version: number }

export type FilterWrite = FilterKey & {
  /** 1 byte to FILTER_BYTES_MAX. */
  filter: Buffer
  /** The version that was read, 0 where there was none: another one stored now refuses the write. */
  expected: number
  /** Milliseconds since the epoch from which on it may be purged; kept from the first write of a filter, over a quarantine too. */
  expiresAt: number
}

/** A filter that was set aside, as it was. */
export type QuarantinedFilter = FilterKey & StoredFilter & { reason: string }

export interface SeenRecords {
  /** Reads that this process may have in flight: its connections. Absent: the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /** Multi-get in order. Each as it was at some moment of the call; of many, not all at the same one. Expired ones are there until they are purged. */
  getFilters(keys: readonly FilterKey[]): Promise<(StoredFilter | undefined)[]>
  /** All months of these viewers that are stored, in order of viewers, each by month. */
  listFilters(viewers: readonly ViewerId[]): Promise<(StoredFilter & { month: Month })[][]>
  /**
   * Writes each whose expected version is the stored one. True for each that was written, in order. Keys are distinct. Each
   * is written whole or not at all; a call that rejects may have written some. A repetition of what was written is refused:
   * whoever is refused reads again, folds again and writes again.
   */
  putFilters(writes: readonly FilterWrite[]): Promise<boolean[]>
  /**
   * Sets a filter aside that cannot be read: it is kept for operators until it expires, with the reason (its first 250
   * characters). In its place comes `rebuilt`, in the same step, so that no reader finds less than is known of it, whoever dies
   * meanwhile; without one it is gone for readers, who find none and write with expected 0. Does nothing if another version
   * is stored now. True if it was set aside.
   */
  quarantineFilter(key: FilterKey, version: number, reason: string, rebuilt?: Buffer): Promise<boolean>
  /** Up to `limit` that were set aside and are not purged yet, in any order; of one viewer, if one is given. */
  listQuarantined(limit: number, viewer?: ViewerId): Promise<QuarantinedFilter[]>
  /** How many were set aside and are not purged yet. */
  countQuarantined(): Promise<number>
  /**
   * Removes up to `limit` filters that expired at or before this moment, and what was set aside of them. Returns how many
   * went; 0 = done. What was purged begins again at version 1: months expire long after the last play that is let in.
   */
  purgeExpired(expiredBefore: number, limit: number): Promise<number>
  /**
   * How many filters expire per day (days since the epoch), by day, for operators and tests; and the bytes of all. Month 0 is left
   * out, and so may be rows that cannot be read. May be slow.
   */
  measureFilters(): Promise<{ filters: number; bytes: number; expiring: { day: number; filters: number }[] }>
  check(): Promise<void>
  close(): Promise<void>
}
