/**
 * All posts that the stores have of a viewer and for a viewer, for operators. It reads past every cache.
 *
 * The record store lists persisted posts only. The others are found by their dirty marks. These are read first: a mark is cleared after its
 * post is in the record store.
 */
import type { DirtyWalk, ViewerId } from '../../../core/domain.ts'
import { chunked } from '../../../stores/chunks.ts'
import type { DirtyKey } from '../model/dirty-keys.ts'
import { names, type Post } from '../model/post.ts'
import type { PostId } from '../packed/post-id.ts'
import { unpackIds } from '../packed/vector.ts'
import type { FeedHotStore, ListChanges } from '../stores/hot-store.ts'
import type { FeedRecords } from '../stores/record-store.ts'

export type PostsOfViewer = {
  /** Their own posts that are not deleted, restricted ones included. */
  own: Post[]
  /** Posts of others for chosen viewers, which are in the inbox or name the viewer. Undefined: the store lost the post. */
  received: { id: PostId; post: Post | undefined }[]
}

export type PostsOfViewerStores = {
  hot: Pick<FeedHotStore, 'getPostMany' | 'getInboxMany' | 'listDirty' | 'readDirty'>
  records: Pick<FeedRecords, 'getPostMany' | 'listPosts' | 'listInboxMany'>
}

const PAGE = 1_000
/** Dirty marks have the time of their process, whose clock may be ahead. */
const AHEAD_MS = 3_600_000

/** `now`: milliseconds since the epoch. Rejects with the code of the store that failed. */
export async function findPostsOfViewer(
  { hot, records }: PostsOfViewerStores,
  viewer: ViewerId,
  regions: number,
  now: number,
): Promise<PostsOfViewer> {
  const waiting = await waitingPosts(hot, viewer, regions, now + AHEAD_MS)
  const ownIds = new Set(waiting.filter(({ author }) => author === viewer).map(({ id }) => id))
  for (let page: Post[] | undefined; page === undefined || page.length > 0; page.forEach(({ id }) => ownIds.add(id)))
    page = await records.listPosts(page?.at(-1)?.id, PAGE, viewer)

  const [changes] = await hot.getInboxMany([viewer])
  const { added, removed } = changes as ListChanges
  const receivedIds = new Set([...unpackIds(added), ...waiting.filter((post) => names(post, viewer)).map(({ id }) => id)])
  for (let before: PostId | undefined, hasMore = true; hasMore;) {
    const [part] = await records.listInboxMany([viewer], before, PAGE)
    const ids = part === undefined ? [] : unpackIds(part.ids)
    for (const id of ids) receivedIds.add(id)
    before = ids[0]
    hasMore = part?.hasMore === true
  }
  for (const id of unpackIds(removed)) receivedIds.delete(id)

  const own = await readPosts({ hot, records }, [...ownIds])
  const received = await readPosts({ hot, records }, [...receivedIds])
  return {
    own: own.flatMap(({ post }) => (post === undefined || post.deleted ? [] : [post])),
    received: received.filter(({ post }) => post?.author !== viewer && post?.deleted !== true),
  }
}

/** As they are now. */
async function readPosts({ hot, records }: PostsOfViewerStores, ids: readonly PostId[]): Promise<PostsOfViewer['received']> {
  const found: PostsOfViewer['received'] = []
  for (const some of chunked(ids, PAGE)) {
    const held = await hot.getPostMany(some)
    const missing = some.filter((_, at) => held[at] === undefined)
    const stored = missing.length === 0 ? [] : await records.getPostMany(missing)
    some.forEach((id, at) => found.push({ id, post: held[at] ?? stored.shift() }))
  }
  return found
}

/** The posts of this author, and those for this viewer, that are not persisted yet. */
async function waitingPosts(hot: PostsOfViewerStores['hot'], viewer: ViewerId, regions: number, dirtyBefore: number): Promise<Post[]> {
  const found: Post[] = []
  const walk: DirtyWalk = {}
  for (let keys: DirtyKey[] | undefined; keys === undefined || keys.length > 0;) {
    keys = await hot.listDirty([...Array(regions).keys()], dirtyBefore, PAGE, walk)
    const contents = await hot.readDirty(keys.filter(({ post }) => post !== undefined))
    for (const post of contents) if (post !== undefined && 'id' in post && (post.author === viewer || names(post, viewer))) found.push(post)
  }
  return found
}
