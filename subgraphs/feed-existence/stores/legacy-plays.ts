/**
 * Port: the legacy store that viewers' plays are migrated from. It has a sorted set of ids by time of play, per viewer and business. It is
 * read while a viewer is not migrated. It is written as long as a return to it must stay possible.
 *
 * Failures surface as `LEGACY_UNAVAILABLE` (retryable), `LEGACY_INVALID` if a key is not a sorted set, or `STORE_FULL`. Every call may be
 * repeated.
 */
import type { BusinessNumber, Play, ViewerId } from '../../../core/domain.ts'

/** `playedAt`: the score, which may not be a valid time. */
export type LegacyPlay = { oid: string; playedAt: number }

export type LegacyPage = {
  plays: LegacyPlay[]
  /** Members that are not ids: empty, longer than 64 bytes, or not UTF-8; each cut to a few characters. */
  invalid: string[]
  /** The start of the next page; undefined after the last. */
  next: string | undefined
}

export type LegacyKind = 'none' | 'set' | 'other'

export interface LegacyPlays {
  /** One round trip. `exists`: false if the viewer has no set. Undefined for ids that are not in it. */
  getPlayedAt(
    viewer: ViewerId,
    business: BusinessNumber,
    oids: readonly string[],
  ): Promise<{ exists: boolean; playedAt: (number | undefined)[] }>
  /**
   * A page of about `count`. A member that is in the set from the first page to the last is on one of them, whatever is written meanwhile.
   * It may be on two.
   */
  listPlays(viewer: ViewerId, business: BusinessNumber, page: string | undefined, count: number): Promise<LegacyPage>
  /** The kinds of values at their keys, in order. */
  examine(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<LegacyKind[]>
  /** Adds these plays; a member with a later time keeps it. Returns the plays whose key is not a sorted set. */
  putPlays(plays: readonly Play[]): Promise<Play[]>
  /** The key, for messages. */
  keyOf(viewer: ViewerId, business: BusinessNumber): string
  check(): Promise<void>
  close(): Promise<void>
}
