/**
 * Bugs that code of this kind could have, planted one at a time into the parts of a process. The simulator must find each of them
 * (`test/simulation/planted-bugs.long.test.ts`).
 */
import type { Stamped, TieredCache } from '../../../cache/tiered-cache.ts'
import { decodePostCursor, encodePostCursor } from '../../../subgraphs/feed/model/cursors.ts'
import type { Audience } from '../../../subgraphs/audience.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import type { Contents } from '../../../subgraphs/feed/read/contents.ts'
import type { Freshness } from '../../../subgraphs/feed/read/freshness.ts'
import type { PageAsked, Pages } from '../../../subgraphs/feed/read/page.ts'
import type { FeedHotStore } from '../../../subgraphs/feed/stores/hot-store.ts'
import type { LongsetStore } from '../../../subgraphs/feed/stores/longset-store.ts'
import type { FeedRecords } from '../../../subgraphs/feed/stores/record-store.ts'

export type ProcessFaults = {
  /** A page uses cached values without a question for changes. */
  asksNothing?: boolean
  /** A page joins a question that began before it. */
  joinsQuestions?: boolean
  /** A request uses the answer of a question that began before it. */
  keepsAnswers?: boolean
  /** A cached value has the highest version. */
  stampsHigh?: boolean
  /** A tombstone in the hot store is no answer. */
  ignoresTombstones?: boolean
  /** What the hot store added to a list is not read. */
  ignoresAdditions?: boolean
  /** A page begins at its cursor. */
  includesCursor?: boolean
  /** Posts have no audience when they are shown. */
  ignoresAudiences?: boolean
  /** Ids do not say which posts are restricted. */
  asksNoAudience?: boolean
  /** The persist step leaves inboxes as they are. */
  repairsNoInbox?: boolean
  /** Longsets are forgotten before the marks are put, and not after it. */
  forgetsFirst?: boolean
  /** A list that the record store does not answer is empty, and the answer names no store. */
  hidesOutages?: boolean
}

/** In the hot store as pages read it. */
export function plantInReads(hot: FeedHotStore, { ignoresTombstones, ignoresAdditions }: ProcessFaults): FeedHotStore {
  if (ignoresTombstones === true)
    return { ...hot, getPostMany: async (ids) => (await hot.getPostMany(ids)).map((post) => (post?.deleted === true ? undefined : post)) }
  if (ignoresAdditions === true)
    return {
      ...hot,
      getOutboxMany: async (...asked) =>
        (await hot.getOutboxMany(...asked)).map((changes) => ({ ...changes, added: Buffer.alloc(0), hasMore: false })),
    }
  return hot
}

/** In the hot store of the persist step. */
export function plantInPersist(hot: FeedHotStore, { repairsNoInbox }: ProcessFaults): FeedHotStore {
  const nothing = (): Promise<void> => Promise.resolve()
  return repairsNoInbox === true ? { ...hot, addToInboxes: nothing, removeFromInboxes: nothing } : hot
}

export function plantInRecords(records: FeedRecords, { hidesOutages }: ProcessFaults): FeedRecords {
  if (hidesOutages !== true) return records
  const nothing = (owners: readonly unknown[]) => owners.map(() => ({ ids: Buffer.alloc(0), hasMore: false }))
  return {
    ...records,
    listOutboxMany: (authors, ...asked) => records.listOutboxMany(authors, ...asked).catch(() => nothing(authors)),
    listInboxMany: (viewers, ...asked) => records.listInboxMany(viewers, ...asked).catch(() => nothing(viewers)),
    getPostMany: (ids) => records.getPostMany(ids).catch(() => ids.map(() => undefined)),
  }
}

export function plantInFreshness(freshness: Freshness, { asksNothing, joinsQuestions, keepsAnswers }: ProcessFaults): Freshness {
  if (asksNothing === true) return { ...freshness, look: () => Promise.resolve(freshness.floorOf) }
  if (keepsAnswers === true) return { ...freshness, moment: () => freshness.moment() - 1 }
  if (joinsQuestions !== true) return freshness
  let question: Promise<unknown> | undefined
  return {
    ...freshness,
    async look(degraded) {
      question ??= freshness.look(degraded).finally(() => void (question = undefined))
      await question
      return freshness.floorOf
    },
  }
}

export function plantInCache(cache: TieredCache, { stampsHigh }: ProcessFaults): TieredCache {
  if (stampsHigh !== true) return cache
  const stamped = (value: Stamped | undefined): Stamped | undefined =>
    value === undefined || value.version < 0 ? value : { ...value, version: Infinity }
  return {
    ...cache,
    getMany: (keys, load, ...checks) => cache.getMany(keys, async (missing) => (await load(missing)).map(stamped), ...checks),
  }
}

export function plantInContents(contents: Contents, { ignoresAudiences }: ProcessFaults): Contents {
  if (ignoresAudiences !== true) return contents
  const forAll = (post: Post | undefined): Post | undefined => post && { ...post, audience: undefined }
  return { getMany: async (...asked) => (await contents.getMany(...asked)).map(forAll) }
}

export function plantInAudience(audience: Audience, { asksNoAudience }: ProcessFaults): Audience {
  return asksNoAudience === true ? { ...audience, isRestricted: () => false } : audience
}

export function plantInPages(pages: Pages, { includesCursor }: ProcessFaults): Pages {
  if (includesCursor !== true) return pages
  return {
    ...pages,
    homeFeed: (viewer, { first, after }: PageAsked, degraded) => {
      const list = { kind: 'homeFeed', owner: viewer } as const
      const above = after && encodePostCursor(list, String(BigInt(decodePostCursor(list, after)) + 1n))
      return pages.homeFeed(viewer, { first, after: above }, degraded)
    },
  }
}

export function plantInLongsets(longsets: LongsetStore, { forgetsFirst }: ProcessFaults): LongsetStore {
  if (forgetsFirst !== true) return longsets
  return { ...longsets, forget: async (viewers, refuseMs) => (refuseMs > 0 ? longsets.forget(viewers, 0) : undefined) }
}
