/**
 * The terms of Tidemark as types. This file imports nothing, so that ports, adapters and domain code can all use it. Ids are strings
 * everywhere outside `keys.ts`; times are milliseconds since the Unix epoch.
 */

/** A viewer. UTF-8, 1 to 64 bytes. */
export type ViewerId = string

/** A tenant's number, 1 to 65535. Configuration maps names to numbers; stores and logs hold the number only. */
export type BusinessNumber = number

/** A subject of a business. */
export type Subject = { business: BusinessNumber; oid: string }

/** The address of one viewer's progress in one subject. */
export type ProgressKey = { viewer: ViewerId; business: BusinessNumber; oid: string }

/**
 * A key that waits to be persisted. `stagedOn`: a play of the subject on this day (days since the epoch, in the time zone of first plays)
 * was staged, and the hot store acknowledged it. The persist step stages it again only if the record is of another day.
 */
export type FlushedKey = ProgressKey & { stagedOn?: number }

/** A walk over dirty keys: an empty object, in which the store notes its place. */
export type DirtyWalk = { place?: unknown }

/**
 * The record of a key: two last-write-wins registers in one.
 *
 * - `viewedAt` is the newest visit of any kind and orders the timeline.
 * - position, duration, device and finished are the resume point. They belong to the report with the highest `rank` (see
 *   `subgraphs/history/model/merge.ts`): a glance of a second moves the subject up the timeline without wiping the resume point.
 *
 * `since` is the newest deletion or clearing that this record has survived: anything viewed at or before it is void. A tombstone is a
 * record with `deleted: true`, `viewedAt === since`, and `rank: 0`.
 */
export type ProgressRecord = {
  /** Milliseconds since the epoch of the newest visit (of a tombstone: of the deletion). */
  viewedAt: number
  /** Milliseconds since the epoch; 0 if nothing was ever deleted. */
  since: number
  /** Orders resume points; the higher wins. A whole number below 2^53. */
  rank: number
  /**
   * Assigned by the hot store at each change of the key: a hybrid clock, milliseconds × 1024 + a count, strictly growing within a region.
   * It breaks ties of `rank`, guards dirty marks, and dates the last write for retention.
   */
  version: number
  /** The viewer's position, in the business's own unit (milliseconds for video, pages for comics). 0 to 2^31 - 1. */
  position: number
  /** The subject's whole length in the same unit; 0 if unknown. */
  duration: number
  /** The device that set the resume point; at most 64 bytes, may be empty. */
  device: string
  finished: boolean
  deleted: boolean
}

/** A place in a timeline: entries are ordered by viewedAt, newest first, then by business and oid (`comparePlaces`). */
export type Place = { viewedAt: number; business: BusinessNumber; oid: string }

/** One line of a viewer's history. Never a tombstone, never at or below the viewer's `clearedAt`. */
export type TimelineEntry = { business: BusinessNumber; oid: string; record: ProgressRecord }

/** A viewer's switches and watermarks. Written through the same path as progress, with their own version. */
export type ViewerSettings = {
  paused: boolean
  /** Per business number: everything viewed at or before this moment is gone. */
  clearedAt: Readonly<Record<BusinessNumber, number>>
  /** 0 if nothing was ever set. */
  version: number
}

/** The change that the viewer's other subscribed devices get. */
export type ProgressChange =
  | { kind: 'put'; viewer: ViewerId; business: BusinessNumber; oid: string; record: ProgressRecord }
  | { kind: 'deleted'; viewer: ViewerId; business: BusinessNumber; oid: string; record: ProgressRecord }
  | { kind: 'cleared'; viewer: ViewerId; business: BusinessNumber; clearedAt: number; version: number }
  /** The viewer paused or resumed the history, in ALL_BUSINESSES. */
  | { kind: 'paused'; viewer: ViewerId; business: BusinessNumber; paused: boolean; version: number }
  /** The first view of a day was claimed, in this business or in ALL_BUSINESSES. `version`: of the report that claimed it. */
  | { kind: 'day'; viewer: ViewerId; business: BusinessNumber; day: number; version: number }

/** The reason of a reward: the first report of a day, the first subject played, the first served. */
export type RewardKind = 'FIRST_VIEW' | 'FIRST_PLAY' | 'FIRST_ISSUE'

/** An event that may happen once a day per viewer, in a business or in all of them, and earns a reward. */
export type RewardEvent = {
  /** Stable under repetition (`core/rewards.ts`): consumers drop repeated ids. */
  id: string
  viewer: ViewerId
  /** ALL_BUSINESSES for a reward that is earned once a day in all businesses. */
  business: BusinessNumber
  /** Days since the Unix epoch, in the time zone of the reward (`core/days.ts`). */
  day: number
  kind: RewardKind
}

/** In place of a business: a reward, or a change, that concerns all of them. */
export const ALL_BUSINESSES: BusinessNumber = 0

/** The settings of a viewer travel and persist like a subject's progress, under this reserved address. */
export const SETTINGS_BUSINESS: BusinessNumber = 0
export const SETTINGS_OID = 'settings'

/** The viewer's opinion of a subject. */
export type Mark = 'NONE' | 'LIKE' | 'DISLIKE'

/** The address of a viewer's mark of a subject. */
export type MarkKey = ProgressKey

/**
 * The stored value of a key: one last-write-wins register, ordered by `markedAt`, exact ties by `version`
 * (`subgraphs/thumbup/model/merge.ts`). NONE is a tombstone: it keeps an older mark that arrives late from coming back.
 */
export type MarkRecord = {
  mark: Mark
  /** Milliseconds since the epoch: the time of the viewer's last change. Orders lists, newest first. */
  markedAt: number
  /** Assigned by the hot store at each change of the key: a hybrid clock as in `ProgressRecord`. */
  version: number
}

/** One line of a viewer's likes, or of a subject's likers: the other id, and the time. */
export type MarkEntry = { id: string; markedAt: number }

/** A place in a list of marks of one viewer or one subject: newest first, then by id (`compareIds`). */
export type MarkPlace = MarkEntry

/** The number of rows of a subject in each state. Whole numbers up to 2^53. */
export type SubjectCounts = {
  likes: number
  dislikes: number
  /** Grows with each change of the two; 0 if nothing was ever counted. A reader of caches keeps the higher one. */
  version: number
}

/** Likes received by all subjects of an owner in a business. `version` as in `SubjectCounts`. */
export type OwnerSum = { business: BusinessNumber; owner: ViewerId; likes: number; version: number }

/** A viewer really watched a subject. Reported at least once, in any order. */
export type Play = {
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  /** Milliseconds since the epoch. Its month (UTC) determines its filter. */
  playedAt: number
}

/** Months since January 1970, UTC. */
export type Month = number

/** The rules by which a business resolves conflicts between devices. */
export const CONFLICT_RULES = ['newest', 'furthest'] as const

export type ConflictRule = (typeof CONFLICT_RULES)[number]

/** The two ends of a gap in which changes may have been missed. */
export type GapSide = 'begins' | 'ends'

export type CountedSubject = Subject & { counts: SubjectCounts }

export type ProgressRow = { key: ProgressKey; record: ProgressRecord }
