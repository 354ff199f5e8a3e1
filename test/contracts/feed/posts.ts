/** Posts of the contract suites, and the steps that most tests share. */
import type { ViewerId } from '../../../core/domain.ts'
import type { DirtyKey } from '../../../subgraphs/feed/model/dirty-keys.ts'
import type { Post, PostDraft } from '../../../subgraphs/feed/model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, type PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { unpackIds } from '../../../subgraphs/feed/packed/vector.ts'
import type { FeedHotStore, FeedStoreOptions, ListChanges } from '../../../subgraphs/feed/stores/hot-store.ts'
import { later } from '../reports.ts'

export const DAY_MS = 86_400_000
export const KEEP_MS = 7 * DAY_MS
let keys = 0

export function draftOf(author: ViewerId, fields: Partial<PostDraft> = {}): PostDraft {
  keys += 1
  return { author, text: `post ${keys}`, media: [], source: undefined, audience: undefined, clientKey: `key-${keys}`, ...fields }
}

export function optionsAt(now: number = later()): FeedStoreOptions {
  return { now, keepMs: KEEP_MS }
}

/** The published post. Throws for any other outcome. */
export async function publishOne(store: FeedHotStore, draft: PostDraft, now: number = later()): Promise<Post> {
  const outcome = await store.publish(draft, optionsAt(now))
  if (outcome.status !== 'published') throw new Error(`not published: ${outcome.status}`)
  return outcome.post
}

export const keyOfPost = ({ author, id }: Post): DirtyKey => ({ viewer: author, post: id })

export async function clean(store: FeedHotStore, ...posts: Post[]): Promise<void> {
  await store.clearDirty(posts.map((post) => ({ key: keyOfPost(post), version: post.version })))
}

export type Listed = { added: PostId[]; removed: PostId[]; version: number }

export function listed(changes: ListChanges | undefined): Listed | undefined {
  return changes && { added: unpackIds(changes.added), removed: unpackIds(changes.removed), version: changes.version }
}

export async function outboxOf(store: FeedHotStore, author: ViewerId): Promise<Listed | undefined> {
  return listed((await store.getOutboxMany([author]))[0])
}

export async function inboxOf(store: FeedHotStore, viewer: ViewerId): Promise<Listed | undefined> {
  return listed((await store.getInboxMany([viewer]))[0])
}

export async function postOf(store: FeedHotStore, id: PostId): Promise<Post | undefined> {
  return (await store.getPostMany([id]))[0]
}

export async function purgeAll(store: FeedHotStore, regions: number, changedBefore: number, limit = 100): Promise<number> {
  const all = [...Array(regions).keys()]
  for (let total = 0; ;) {
    const gone = await store.purgeOld(all, changedBefore, limit)
    if (gone === 0) return total
    total += gone
  }
}

export function tickAt(ms: number): number {
  return (ms - POST_EPOCH_MS) * TICKS_PER_MS
}
