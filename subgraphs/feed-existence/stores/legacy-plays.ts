/**
 * Port: the store that viewers' plays are moved from, as it was before: per viewer and business a sorted set of ids by the
 * time of the play. It is read while a viewer is not migrated, and written while one may want to go back.
 *
 * Failures surface as `LEGACY_UNAVAILABLE` (retryable), or `LEGACY_INVALID` where a key is no sorted set; STORE_FULL if it takes
 * no more. Every call may be repeated.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'

/** `playedAt`: as the score says; maybe no time at all. */
export type LegacyPlay = { oid: string; playedAt: number }

export type LegacyPage = {
  plays: LegacyPlay[]
  /** Members that are no ids: empty, longer than 64 bytes, or not UTF-8; each cut to a few characters. */
  invalid: string[]
  /** Where the next page begins; undefined after the last. */
  next: string | undefined
}

export type LegacyKind = 'none' | 'set' | 'other'

export interface LegacyPlays {
  /** One round trip. `exists`: is there a set of his? Undefined for what is not in it. */
  getPlayedAt(
    viewer: ViewerId,
    business: BusinessNumber,
    oids: readonly string[],
  ): Promise<{ exists: boolean; playedAt: (number | undefined)[] }>
  /**
   * A page of about `count`. What is in the set from the first page to the last is in one of them, whatever is written
   * meanwhile; it may be in two.
   */
  listPlays(viewer: ViewerId, business: BusinessNumber, page: string | undefined, count: number): Promise<LegacyPage>
  /** What stands at their keys, in order. */
  examine(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<LegacyKind[]>
  /** Adds these; one that is there with a later time keeps it. Returns those that found no sorted set at their key. */
  putPlays(plays: readonly Play[]): Promise<Play[]>
  /** For messages: where this is. */
  keyOf(viewer: ViewerId, business: BusinessNumber): string
  check(): Promise<void>
  close(): Promise<void>
}
