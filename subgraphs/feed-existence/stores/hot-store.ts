/**
 * Port: the hot store of what viewers were served and what they watched lately. Issued: the last served, per viewer and
 * business. Staged: what was played and is not yet folded into the viewer's filter, per viewer and ring slot. The ring: which
 * viewers have something staged, per slot and shard. A viewer belongs to one region, and so do his shard and everything of
 * him; whatever belongs to a region can be changed in one atomic step.
 *
 * Ids have passed `checkId`; `playedAt` is a whole number from 0 to PLAYED_AT_MAX, `slot` one from 0 to SLOTS_MAX - 1.
 *
 * Flags of the day: has a viewer played, or been served, anything of a business on this day? A claim of a day that was claimed
 * already changes nothing. They are kept for two days.
 *
 * Every adapter passes `test/contracts/feed-existence/hot-store.ts`. Failures surface as `HOT_STORE_UNAVAILABLE` (of a store in parts as a
 * `PartOutage`) or `STORE_FULL`. Every call may be repeated; a repetition changes nothing.
 */
import type { BusinessNumber, Play, RewardEvent, Subject, ViewerId } from '../../../core/domain.ts'

/** Milliseconds since the epoch: the year 2527. */
export const PLAYED_AT_MAX = 2 ** 44 - 1
export const SLOTS_MAX = 255
/** For how long `HotSeen.folds` is kept at least once nothing of the viewer is staged any more. */
export const FOLDS_KEPT_MS = 2 * 3_600_000

export type IssuedOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Kept per viewer and business: the newest. */
  cap: number
  /** Milliseconds for which an entry stays although newer ones exceed the cap; as old as that it may go. */
  minAgeMs: number
  /** What is kept in any case at most, whatever its age. At least `cap`. */
  hardCap: number
  /**
   * Milliseconds for which the whole of it is kept after the viewer was served last. Stores forget by themselves, by their own clocks,
   * or with `purgeIssued`, and with the next of these calls.
   */
  ttlMs: number
  /** The day (UTC, days since the epoch) to claim as the first on which something of this business was served; absent = do not check. */
  day?: number | undefined
}

/** A play, and the day to claim as the first on which something of its business was played; absent = do not check. */
export type PlayWrite = Play & { day?: number | undefined }

/** How much a viewer has staged in a slot. `firsts`: days that were nobody's before, of his plays' businesses; absent if none. */
export type StagedCount = { viewer: ViewerId; staged: number; firsts?: { business: BusinessNumber; day: number }[] }

export type StageOptions = {
  now: number
  /** The slot of the ring that is written to now. */
  slot: number
  /** Where one of the viewers has so much staged in this slot, nothing of his region is staged, and the call rejects with PLAYS_TOO_MANY. Absent: no end. */
  max?: number | undefined
}

export type StagedPlay = Subject & { playedAt: number }

/** What the hot store knows of a viewer in a business. */
export type HotSeen = {
  /** Newest first: of one millisecond by their places in the lists they came in, the last first, and then by the bytes of their oids, the last first. */
  issued: { oid: string; issuedAt: number }[]
  /** Staged in any slot, each once with its latest time, in any order. */
  staged: { oid: string; playedAt: number }[]
  /**
   * Grows whenever something of the viewer's, of any business, leaves staging, in the same atomic step; `staged` and it are of
   * one moment. Filters that were loaded after this value was read lack nothing that is not in `staged`. 0 where nothing was
   * ever staged, or nothing is and nothing was folded within FOLDS_KEPT_MS: so what is kept by it is kept for less than that. It
   * begins with the first play staged, at the time, and so goes on above any value it ever had where it was forgotten, or lost: what
   * is kept by an older one is never taken for new.
   */
  folds: number
}

export interface SeenStore {
  /**
   * Notes these as served now, each one newer than those before it in `oids` (`issued-moments.ts`); one that was served before
   * moves to the front, never back. Then whatever is not among the newest
   * `cap` goes, once it is `minAgeMs` old or not among the newest `hardCap`. Then the day is claimed; a first of the day leaves a
   * pending reward, and true is returned. Atomic; readable everywhere when it resolves. Without oids nothing happens.
   */
  putIssued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], options: IssuedOptions): Promise<boolean>
  /**
   * Forgets what was served to viewers, per business as a whole, where the last of it was before this moment. Looks at up to
   * `limit` viewers and businesses; returns at how many. 0 = done, as ever where it goes by itself.
   */
  purgeIssued(servedBefore: number, limit: number): Promise<number>
  /**
   * Stages each play in its viewer's slot, and puts the viewer into the ring. Of two plays of a subject in a slot the later
   * stays; in each slot it is staged by itself. Days are claimed alike, each of a viewer and business once, and a first
   * of the day leaves a pending reward. Atomic per region. Returns, in order of first appearance, each viewer with how much he has staged in this slot.
   */
  stagePlays(plays: readonly PlayWrite[], options: StageOptions): Promise<StagedCount[]>
  /** One round trip. */
  getSeen(viewer: ViewerId, business: BusinessNumber): Promise<HotSeen>
  /** As `getSeen`, of several businesses or viewers at once, in order. */
  getSeenMany(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<HotSeen[]>

  /** Viewers of a slot and shard, in any order, at most `limit`, each once. */
  listRing(slot: number, shard: number, limit: number): Promise<ViewerId[]>
  /** What these viewers have staged in a slot, all businesses, in order of viewers. What is staged or removed meanwhile may be left out. */
  readStaged(slot: number, viewers: readonly ViewerId[]): Promise<StagedPlay[][]>
  /**
   * They are folded: removes exactly these plays (one that was staged again with another `playedAt` stays), and the viewer
   * from the slot's ring if nothing of his is left in it, under every layout that is known. Atomic per viewer and some
   * thousand plays; of what he has more, `folds` grows with each step.
   */
  removeStaged(slot: number, folded: readonly { viewer: ViewerId; plays: readonly StagedPlay[] }[]): Promise<void>
  /**
   * How many viewers have something staged, per slot. For figures and tests; may be slow. While two layouts are written to, a
   * viewer may count twice.
   */
  countRing(): Promise<number[]>
  /**
   * The layouts the ring ever had, the one in use last; equal ones that follow each other are one, the earliest. A viewer's place
   * in the ring stays where the layout in use when he was staged has put it.
   */
  getRingLayouts(): Promise<RingLayout[]>
  /** Of several with one `since` the first stays. */
  putRingLayout(layout: RingLayout): Promise<void>

  /** Rewards claimed at or before `claimedBefore` and not yet confirmed, of these regions; at most `limit`. */
  listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]>
  /** The log has them. */
  confirmRewards(rewards: readonly RewardEvent[]): Promise<void>

  check(part?: number): Promise<void>
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}

export type RingShape = { slots: number; shards: number }

/** A ring's shape. `since`: from when on (ms). A shard belongs to region `shard mod regions`. */
export type RingLayout = RingShape & { since: number }
