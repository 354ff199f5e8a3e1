/**
 * Subjects that only chosen viewers may see: the restricted posts of the feed (`feed/read/audience.ts`). To all others, other subgraphs answer
 * as if nobody ever touched such a subject.
 */
import type { MarkKey, Subject } from '../core/domain.ts'
import type { Degraded } from '../core/outage/degraded.ts'

export type Audience = {
  /** Whether only chosen viewers may see the subject. The id alone says it, so that public subjects cost no lookup. */
  isRestricted(subject: Subject): boolean
  /**
   * In the order of `keys`, which are of restricted subjects: whether the viewer may see the subject. False also if it does not exist. Null: a
   * store that knows it is down, which `degraded` then names. Show nothing in this case.
   */
  maySeeMany(keys: readonly MarkKey[], degraded: Degraded): Promise<(boolean | null)[]>
}

/** Without a feed, everybody may see every subject. */
export const FOR_EVERYBODY: Audience = {
  isRestricted: () => false,
  maySeeMany: (keys) => Promise.resolve(keys.map(() => true)),
}
