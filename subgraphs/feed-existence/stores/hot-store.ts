/**
 * Port: the hot store of feed existence. Issued: the subjects last served, per viewer and business. Staged: the subjects that were played
 * and are not yet in the viewer's filter, per viewer and ring slot. The ring: the viewers with staged plays, per slot and shard. A viewer
 * belongs to one region, and so do the viewer's shard and data. Data of one region can change in one atomic step.
 *
 * Ids have passed `checkId`; `playedAt` is a whole number from 0 to PLAYED_AT_MAX, `slot` one from 0 to SLOTS_MAX - 1.
 *
 * A day flag records that a viewer has played, or was served, something of a business on a day. Claiming a day twice changes nothing. Flags
 * are kept for three days after the last claim of the day.
 *
 * Every adapter passes `test/contracts/feed-existence/hot-store.ts`. Failures surface as `HOT_STORE_UNAVAILABLE` (a `PartOutage` for a
 * store in parts) or `STORE_FULL`. Every call may be repeated; a repetition changes nothing.
 */
import type { DayClaim } from '../../../core/rewards.ts'
import type { BusinessNumber, Play, RewardEvent, Subject, ViewerId } from '../../../core/domain.ts'

/** Milliseconds since the epoch: the year 2527. */
export const PLAYED_AT_MAX = 2 ** 44 - 1
export const SLOTS_MAX = 255
/** Minimum time for which `HotSeen.folds` is kept once nothing of the viewer is staged. */
export const FOLDS_KEPT_MS = 2 * 3_600_000

export type IssuedOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Entries kept per viewer and business: the newest. */
  cap: number
  /** Milliseconds for which an entry stays although newer ones exceed the cap. At this age it may go. */
  minAgeMs: number
  /** Maximum number of entries, whatever their age. At least `cap`. */
  hardCap: number
  /**
   * Milliseconds for which all entries are kept after the viewer was last served. Stores expire them by their own clocks, or with
   * `purgeIssued`, and with the next of these calls.
   */
  ttlMs: number
} & DayClaim

/** A play, and the day to claim as the first on which something was played. */
export type PlayWrite = Play & DayClaim

/**
 * The number of a viewer's plays staged in a slot. `firsts`: days newly claimed, with the business of the claim (`claimedBusiness`); absent if
 * none.
 */
export type StagedCount = { viewer: ViewerId; staged: number; firsts?: { business: BusinessNumber; day: number }[] }

export type StageOptions = {
  now: number
  /** The current slot of the ring. */
  slot: number
  /**
   * If one of the viewers has this many plays staged in the slot, nothing of that region is staged, and the call rejects with
   * PLAYS_TOO_MANY. If absent, there is no limit.
   */
  max?: number | undefined
}

export type StagedPlay = Subject & { playedAt: number }

/** The data of the hot store about a viewer in a business. */
export type HotSeen = {
  /**
   * Newest first. Within a millisecond by their places in the lists they came in, the last first, then by the bytes of their oids, the last
   * first.
   */
  issued: { oid: string; issuedAt: number }[]
  /** Staged in any slot, each subject once with its latest time, in any order. */
  staged: { oid: string; playedAt: number }[]
  /**
   * Grows whenever a play of the viewer, in any business, leaves staging. It changes in the same atomic step, and `staged` and it are of
   * one moment. Filters loaded after this value was read therefore contain every play that is not in `staged`.
   *
   * 0 if nothing was ever staged, or if nothing is staged and nothing was folded within FOLDS_KEPT_MS. Filters cached by this value must
   * therefore expire sooner. The value begins with the first staged play, at the current time. After a loss or an expiry it thus continues
   * above every earlier value, and an outdated cache entry never matches.
   */
  folds: number
}

export interface SeenStore {
  /**
   * Notes these subjects as served now, each one newer than those before it in `oids` (`issued-moments.ts`). A subject that was served
   * before moves to the front, never back. Entries beyond the newest `cap` are then removed, if they are `minAgeMs` old or beyond the
   * newest `hardCap`. Then the day is claimed: a first of the day leaves a pending reward, and the result is true. Atomic; readable
   * everywhere when it resolves. Without oids nothing happens.
   */
  putIssued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], options: IssuedOptions): Promise<boolean>
  /**
   * Removes the served subjects of viewers, per business as a whole, if the last was served before this moment. Examines up to `limit`
   * pairs of viewer and business, and returns their number. 0 = done; always 0 in a store that expires them itself.
   */
  purgeIssued(servedBefore: number, limit: number): Promise<number>
  /**
   * Stages each play in its viewer's slot, and puts the viewer into the ring. If a slot has two plays of a subject, the later stays; each
   * slot is independent. Days are claimed in the same step, once per viewer and business of the claim. A first of the day leaves a pending reward.
   * Atomic per region. Returns each viewer, in order of first appearance, with the number of plays staged in this slot.
   */
  stagePlays(plays: readonly PlayWrite[], options: StageOptions): Promise<StagedCount[]>
  /** One round trip. */
  getSeen(viewer: ViewerId, business: BusinessNumber): Promise<HotSeen>
  /** As `getSeen`, for several pairs at once, in order. */
  getSeenMany(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<HotSeen[]>

  /** The given shards that have viewers in a slot. */
  filledShards(slot: number, shards: readonly number[]): Promise<number[]>
  /** At most `limit` viewers of a slot and shard, in any order, each once. */
  listRing(slot: number, shard: number, limit: number): Promise<ViewerId[]>
  /**
   * The plays of these viewers staged in a slot, in all businesses, in order of viewers. Plays staged or removed during the call may be
   * missing.
   */
  readStaged(slot: number, viewers: readonly ViewerId[]): Promise<StagedPlay[][]>
  /**
   * Removes exactly these plays after a fold; a play that was staged again with another `playedAt` stays. Removes the viewer from the
   * slot's ring, under every known layout, if none of the viewer's plays are left in it. Atomic per viewer and some thousand plays. If a
   * viewer has more, `folds` grows with each step.
   */
  removeStaged(slot: number, folded: readonly { viewer: ViewerId; plays: readonly StagedPlay[] }[]): Promise<void>
  /**
   * The number of viewers with staged plays, per slot. For figures and tests; may be slow. While two layouts are in use, a viewer may count
   * twice.
   */
  countRing(): Promise<number[]>
  /**
   * All layouts the ring has had, the current one last. Of equal layouts in a row, only the earliest is returned. A viewer keeps the place
   * in the ring given by the layout that was current when the play was staged.
   */
  getRingLayouts(): Promise<RingLayout[]>
  /** Of several layouts with the same `since`, the first stays. */
  putRingLayout(layout: RingLayout): Promise<void>

  /** Rewards claimed at or before `claimedBefore` and not yet confirmed, of these regions; at most `limit`. */
  listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]>
  /** Removes rewards that the log has taken. */
  confirmRewards(rewards: readonly RewardEvent[]): Promise<void>

  check(part?: number): Promise<void>
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}

export type RingShape = { slots: number; shards: number }

/** A ring's shape. `since`: the time from which it is used (ms). A shard belongs to region `shard mod regions`. */
export type RingLayout = RingShape & { since: number }
