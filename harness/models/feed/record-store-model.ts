/**
 * The record store of the feed as documented in the port, in plain maps. Lists are computed from all posts each time, so they cannot differ
 * from the posts. Several processes may share a state. Every method happens at one instant, which `run` chooses: at once, or when a
 * simulation decides. If `run` rejects before it has called the action, the action has not happened.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { recipientsOf, type FilterWords, type Post } from '../../../subgraphs/feed/model/post.ts'
import { packIds } from '../../../subgraphs/feed/packed/vector.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { FeedRecords, ListPart } from '../../../subgraphs/feed/stores/record-store.ts'

export type FeedRecordsState = { posts: Map<PostId, Post>; words: Map<ViewerId, FilterWords> }

export function makeFeedRecordsState(): FeedRecordsState {
  return { posts: new Map(), words: new Map() }
}

export type RunFeedRecords = <T>(name: keyof FeedRecords, args: readonly unknown[], act: () => T) => Promise<T>

// oxlint-disable-next-line typescript/require-await -- what the action throws must reject
const immediately: RunFeedRecords = async (_name, _args, act) => act()

/** The port of one process. */
export function openModelFeedRecords(state: FeedRecordsState, run: RunFeedRecords = immediately): FeedRecords {
  function put(post: Post): void {
    const stored = state.posts.get(post.id)
    if (stored === undefined || stored.version < post.version) state.posts.set(post.id, structuredClone(post))
  }

  function get(id: PostId): Post | undefined {
    return structuredClone(state.posts.get(id))
  }

  function putWords(viewer: ViewerId, words: FilterWords): void {
    const stored = state.words.get(viewer)
    if (stored === undefined || stored.version < words.version) state.words.set(viewer, structuredClone(words))
  }

  /** The newest posts below `before` that belong to the list. */
  function listPart(belongs: (post: Post) => boolean, before: PostId | undefined, limit: number): ListPart {
    const ids = [...state.posts.values()]
      .filter((post) => !post.deleted && belongs(post) && (before === undefined || compareIds(post.id, before) < 0))
      .map(({ id }) => id)
      .sort((a, b) => compareIds(b, a))
    return { ids: packIds(ids.slice(0, limit).toReversed()), hasMore: ids.length > limit }
  }

  function purge(versionBelow: number, limit: number): number {
    const old = [...state.posts.values()].filter(({ deleted, version }) => deleted && version < versionBelow)
    const some = old.sort((a, b) => a.version - b.version).slice(0, Math.max(0, limit))
    for (const { id } of some) state.posts.delete(id)
    return some.length
  }

  /** At most `limit` values in the order of their ids. */
  function after<V>(map: ReadonlyMap<string, V>, last: string | undefined, limit: number, belongs: (value: V) => boolean): [string, V][] {
    const all = [...map].filter(([id, value]) => belongs(value) && (last === undefined || compareIds(id, last) > 0))
    return structuredClone(all.sort(([a], [b]) => compareIds(a, b)).slice(0, limit))
  }

  function listPosts(last: PostId | undefined, limit: number, author: ViewerId | undefined): Post[] {
    const belongs = (post: Post): boolean => !post.deleted && (author === undefined || post.author === author)
    return after(state.posts, last, limit, belongs).map(([, post]) => post)
  }

  return {
    putPosts: (posts) => run('putPosts', [posts], () => posts.forEach(put)),
    putWords: (rows) => run('putWords', [rows], () => rows.forEach(({ viewer, words }) => putWords(viewer, words))),
    getPostMany: (ids) => run('getPostMany', [ids], () => ids.map(get)),
    getWordsMany: (viewers) => run('getWordsMany', [viewers], () => viewers.map((viewer) => structuredClone(state.words.get(viewer)))),
    listOutboxMany: (authors, before, limit) =>
      run('listOutboxMany', [authors, before, limit], () =>
        authors.map((author) => listPart((post) => post.author === author && post.audience === undefined, before, limit)),
      ),
    listInboxMany: (viewers, before, limit) =>
      run('listInboxMany', [viewers, before, limit], () =>
        viewers.map((viewer) => listPart((post) => recipientsOf(post).includes(viewer), before, limit)),
      ),
    listPosts: (last, limit, author) => run('listPosts', [last, limit, author], () => listPosts(last, limit, author)),
    listWords: (last, limit) =>
      run('listWords', [last, limit], () => after(state.words, last, limit, () => true).map(([viewer, words]) => ({ viewer, words }))),
    purgeDeleted: (versionBelow, limit) => run('purgeDeleted', [versionBelow, limit], () => purge(versionBelow, limit)),
    countPosts: () => run('countPosts', [], () => [...state.posts.values()].filter(({ deleted }) => !deleted).length),
    check: () => run('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
