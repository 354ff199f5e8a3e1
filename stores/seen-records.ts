/**
 * Port: the record store of what viewers have watched: one filter per viewer and month, a blob whose format is
 * `core/seen-filter.ts`. Written by read, fold, and write under a version check, so that two workers cannot lose each
 * other's work; read by the service, which keeps them in memory.
 *
 * Every adapter passes `test/contracts/seen-records.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or
 * `STORE_FULL`; every call may be repeated.
 */
import type { Month, ViewerId } from '../core/domain.ts'

export type FilterKey = { viewer: ViewerId; month: Month }

/** `version` grows with every write of the filter; 0 is that of one that does not exist. */
export type StoredFilter = { filter: Buffer; version: number }

export type FilterWrite = FilterKey & {
  filter: Buffer
  /** The version that was read: another one stored now refuses the write. */
  expected: number
  /** Milliseconds since the epoch from which on it may be purged; kept from the first write of a filter. */
  expiresAt: number
}

export interface SeenRecords {
  /** Multi-get in order: one statement. Expired ones are still there until they are purged. */
  getFilters(keys: readonly FilterKey[]): Promise<(StoredFilter | undefined)[]>
  /** All months of these viewers that are stored, in order of viewers, each by month. */
  listFilters(viewers: readonly ViewerId[]): Promise<(StoredFilter & { month: Month })[][]>
  /** Writes each whose expected version is the stored one. True for each that was written, in order. Keys are distinct. */
  putFilters(writes: readonly FilterWrite[]): Promise<boolean[]>
  /** Sets a filter aside that cannot be read, so that it is rebuilt: it is gone for readers and kept for operators, with the reason. */
  quarantineFilter(key: FilterKey, version: number, reason: string): Promise<void>
  /** Removes up to `limit` filters that expired at or before this moment. Returns how many went; 0 = done. */
  purgeExpired(expiredBefore: number, limit: number): Promise<number>
  /** How many filters expire per day (days since the epoch), for operators and tests; and the bytes of all. */
  measureFilters(): Promise<{ filters: number; bytes: number; expiring: { day: number; filters: number }[] }>
  check(): Promise<void>
  close(): Promise<void>
}
