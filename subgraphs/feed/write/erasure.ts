/**
 * Erases the feed of a viewer. Each step makes a change that the API makes too, so counts, cached values and other processes learn of it in
 * the usual way, and persists it at once:
 *
 *   posts        public and restricted ones are deleted
 *   filter words are replaced by none
 *   inbox        the viewer leaves the audience of each restricted post of others, and the post leaves the inbox
 *   follows      end, in both directions
 *
 * The passes are repeated until one finds nothing. An erasure that ends early may be run again. Writes of the viewer during the erasure may
 * stay, like all later ones. The tombstones and empty values that remain are removed by `stores/traces.ts`.
 */
import type { Clock } from '../../../core/clock.ts'
import type { FlushedKey, Subject, ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import { chunked } from '../../../stores/chunks.ts'
import type { FollowMarks } from '../../follow-marks.ts'
import { flushedKeyOf } from '../model/dirty-keys.ts'
import { USERS } from '../model/post-events.ts'
import { names } from '../model/post.ts'
import { findPostsOfViewer, type PostsOfViewerStores } from '../read/posts-of-viewer.ts'
import type { FeedHotStore } from '../stores/hot-store.ts'
import type { FeedRecords } from '../stores/record-store.ts'
import type { FeedService } from './service.ts'

export type Erased = {
  /** Deleted posts. */
  posts: number
  /** Posts of others that the viewer can no longer see. */
  received: number
  /** 1 if there were filter words. */
  words: number
  /** Users whom the viewer followed, and users who followed the viewer. */
  follows: number
  followers: number
}

export type ErasureParts = {
  service: Pick<FeedService, 'delete' | 'setWords'>
  hot: PostsOfViewerStores['hot'] & Pick<FeedHotStore, 'getWords' | 'removeFromInboxes' | 'removeFromAudience'>
  records: PostsOfViewerStores['records'] & Pick<FeedRecords, 'getWordsMany'>
  follows: Pick<FollowMarks, 'put' | 'all' | 'allFollowers' | 'persist'>
  /** The persist steps of posts and words, and of counters. */
  persist(keys: readonly FlushedKey[]): Promise<unknown>
  persistCounts(subjects: readonly Subject[]): Promise<unknown>
}

export type ErasureOptions = { regions: number; keepMs: number }

const FOLLOWS_PER_CALL = 500
const AT_ONCE = 16
/** Bounds the passes if the viewer keeps writing. */
const PASSES_MAX = 5

/** Rejects with the code of a store that does not answer. A repetition is safe and complete. */
export async function eraseViewer(clock: Clock, viewer: ViewerId, parts: ErasureParts, options: ErasureOptions): Promise<Erased> {
  const erased: Erased = { posts: 0, received: 0, words: 0, follows: 0, followers: 0 }
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const found = await erasePass(clock, viewer, parts, options)
    const kinds = Object.keys(found) as (keyof Erased)[]
    for (const kind of kinds) erased[kind] += found[kind]
    if (kinds.every((kind) => found[kind] === 0)) break
  }
  return erased
}

async function erasePass(clock: Clock, viewer: ViewerId, parts: ErasureParts, { regions, keepMs }: ErasureOptions): Promise<Erased> {
  const { service, hot, records, follows, persist, persistCounts } = parts
  const options = () => ({ now: clock.now(), keepMs })
  const caller = { id: viewer, scopes: [] }
  const { own, received } = await findPostsOfViewer({ hot, records }, viewer, regions, clock.now())

  await forEach(own, ({ id }) => withAllStores((degraded) => service.delete(caller, id, degraded)))
  await forEach(received, async ({ id, post }) => {
    if (post !== undefined && names(post, viewer)) {
      await hot.removeFromAudience(post, viewer, options())
      await persist([flushedKeyOf({ viewer: post.author, post: id })])
    }
    // After the audience: an erasure that ends in between finds the post in the inbox again.
    await hot.removeFromInboxes(id, [viewer], options())
  })

  const words = (await hot.getWords(viewer)) ?? (await records.getWordsMany([viewer]))[0]
  const hasWords = words !== undefined && words.words.length > 0
  if (hasWords) await service.setWords(caller, [])
  await persist([...own.map(({ id }) => id), undefined].map((post) => flushedKeyOf({ viewer, post })))
  await persistCounts([{ business: USERS, oid: viewer }])

  const ended = { follows: 0, followers: 0 }
  const followed = await withAllStores((degraded) => follows.all(viewer, degraded, false))
  for (const users of chunked(followed ?? [], FOLLOWS_PER_CALL)) ended.follows += await endFollows(follows, viewer, users)
  for await (const followers of follows.allFollowers(viewer)) {
    await forEach(followers, async (follower) => {
      const count = await endFollows(follows, follower, [viewer])
      ended.followers += count
    })
    await follows.persist(followers.map((follower) => ({ viewer: follower, user: viewer })))
  }
  return { posts: own.length, received: received.length, words: hasWords ? 1 : 0, ...ended }
}

async function forEach<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (const some of chunked(items, AT_ONCE)) await Promise.all(some.map(work))
}

/** The number of follows that have ended. */
async function endFollows(follows: Pick<FollowMarks, 'put'>, viewer: ViewerId, users: readonly ViewerId[]): Promise<number> {
  const changes = await withAllStores((degraded) => follows.put(viewer, users, false, degraded))
  for (const change of changes) if ('code' in change) throw new TidemarkError(change.code, change.message)
  return changes.filter((change) => 'changed' in change && change.changed).length
}

/** Rejects if the answer lacks a store: it may miss something to erase. */
async function withAllStores<T>(ask: (degraded: Degraded) => Promise<T>): Promise<T> {
  const without: Degraded = new Set()
  const answer = await ask(without)
  const [missing] = without
  if (missing === undefined || missing === 'log') return answer
  throw new TidemarkError(UNAVAILABLE[missing], 'a store does not answer, and may have more to erase: erase again when it does')
}
