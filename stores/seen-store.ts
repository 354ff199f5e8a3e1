/**
 * Port: the hot store of what viewers were served and what they watched lately. Issued: the last served, per viewer and
 * business. Staged: what was played and is not yet folded into the viewer's filter, per viewer and ring slot. The ring: which
 * viewers have something staged, per slot and shard. A viewer belongs to one region, and so do his shard and everything of
 * him; whatever belongs to a region can be changed in one atomic step.
 *
 * Every adapter passes `test/contracts/seen-store.ts`. Failures surface as `HOT_STORE_UNAVAILABLE` (of a store in parts as a
 * `PartOutage`) or `STORE_FULL`. Every call may be repeated; a repetition changes nothing.
 */
import type { BusinessNumber, Play, Subject, ViewerId } from '../core/domain.ts'

export type IssuedOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Kept per viewer and business: the newest. */
  cap: number
  /** Milliseconds for which an entry stays although newer ones exceed the cap. */
  minAgeMs: number
  /** What is kept in any case at most, whatever its age. At least `cap`. */
  hardCap: number
}

export type StageOptions = {
  now: number
  /** The slot of the ring that is written to now. */
  slot: number
}

/** A viewer with something staged in a slot. */
export type RingEntry = { viewer: ViewerId; shard: number }

export type StagedPlay = Subject & { playedAt: number }

/** What the hot store knows of a viewer in a business. */
export type HotSeen = {
  /** Newest first. */
  issued: { oid: string; issuedAt: number }[]
  /** Staged in any slot, each once. */
  staged: { oid: string; playedAt: number }[]
}

export interface SeenStore {
  /** Notes these as served; one that was served before moves to the front. Atomic; readable everywhere when it resolves. */
  putIssued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], options: IssuedOptions): Promise<void>
  /**
   * Stages each play in its viewer's slot, and puts the viewer into the ring. Of two plays of a subject in a slot the later
   * stays. Atomic per region. Returns, in order of first appearance, each viewer with how much he has staged in this slot.
   */
  stagePlays(plays: readonly Play[], options: StageOptions): Promise<{ viewer: ViewerId; staged: number }[]>
  /** One round trip. */
  getSeen(viewer: ViewerId, business: BusinessNumber): Promise<HotSeen>
  /** As `getSeen`, of several businesses or viewers at once, in order. */
  getSeenMany(of: readonly { viewer: ViewerId; business: BusinessNumber }[]): Promise<HotSeen[]>

  /** Viewers of a slot and shard, in any order, at most `limit`. */
  listRing(slot: number, shard: number, limit: number): Promise<ViewerId[]>
  /** What these viewers have staged in a slot, all businesses, in order of viewers. */
  readStaged(slot: number, viewers: readonly ViewerId[]): Promise<StagedPlay[][]>
  /**
   * They are folded: removes exactly these plays (one that was staged again later, with a later `playedAt`, stays), and the
   * viewer from the ring if nothing is left in the slot. Atomic per viewer.
   */
  removeStaged(slot: number, folded: readonly { viewer: ViewerId; plays: readonly StagedPlay[] }[]): Promise<void>
  /** How many viewers have something staged, per slot. For figures and tests; may be slow. */
  countRing(): Promise<number[]>
  /** The layouts of the ring that may hold something, the one in use last. Written once per change. */
  getRingLayouts(): Promise<RingLayout[]>
  putRingLayout(layout: RingLayout): Promise<void>

  check(part?: number): Promise<void>
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}

/** A ring's shape. `since`: from when on (ms). A shard belongs to region `shard mod regions`. */
export type RingLayout = { slots: number; shards: number; since: number }
