/**
 * The checker's model of a feed: facts with the instants at which they became true. It is notified of each change at the instant at which
 * the change reaches the hot store, and of each acknowledgement. It has no regions, sections, caches, notes or stores.
 *
 * A tick counts these instants. What a reader may see is decided by the ticks between its start and its end.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { maySee, type Post } from '../../../subgraphs/feed/model/post.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'

export type PostFact = {
  /** As published. */
  post: Post
  landedAt: number
  /** Undefined: no publication of it was answered yet. */
  ackedAt: number | undefined
  /** The instant of its deletion. */
  deletedAt: number | undefined
  isDeletionAcked: boolean
}

/** A value over time, the newest last. */
type Changes<T> = { at: number; value: T }[]

export type Truths = ReturnType<typeof makeTruths>

export function makeTruths() {
  const posts = new Map<PostId, PostFact>()
  const follows = new Map<string, Changes<boolean>>()
  const words = new Map<ViewerId, Changes<readonly string[]>>()
  const idsOfKeys = new Map<string, PostId>()
  let tick = 0

  const followsOf = (viewer: ViewerId, author: ViewerId): Changes<boolean> => follows.get(followText(viewer, author)) ?? []

  return {
    tick: () => tick,
    posts,
    idsOfKeys,
    keyText: ({ author, clientKey }: { author: ViewerId; clientKey: string }): string => `${author} ${clientKey}`,

    published(post: Post): void {
      posts.set(post.id, { post, landedAt: ++tick, ackedAt: undefined, deletedAt: undefined, isDeletionAcked: false })
    },
    acknowledged(id: PostId): void {
      const fact = posts.get(id)
      if (fact !== undefined) fact.ackedAt ??= ++tick
    },
    deleted(id: PostId): void {
      const fact = posts.get(id)
      if (fact !== undefined) fact.deletedAt ??= ++tick
    },
    follows(viewer: ViewerId, author: ViewerId, value: boolean): void {
      const changes = followsOf(viewer, author)
      if ((changes.at(-1)?.value ?? false) === value) return
      follows.set(followText(viewer, author), [...changes, { at: ++tick, value }])
    },
    wordsSet(viewer: ViewerId, value: readonly string[]): void {
      words.set(viewer, [...(words.get(viewer) ?? []), { at: ++tick, value }])
    },

    /** The values between `since` and now: whether the viewer follows the author. */
    followedSince: (viewer: ViewerId, author: ViewerId, since: number): boolean[] => valuesSince(followsOf(viewer, author), since, false),
    /** The filter words between `since` and now. */
    wordsSince: (viewer: ViewerId, since: number): (readonly string[])[] => valuesSince(words.get(viewer) ?? [], since, []),
    /** The last filter words. */
    wordsNow: (viewer: ViewerId): readonly string[] | undefined => words.get(viewer)?.at(-1)?.value,
    /** Whether the post could be shown by a reader that began at `since`. */
    mayShow: ({ post, deletedAt }: PostFact, viewer: ViewerId | undefined, since: number): boolean =>
      maySee(post, viewer) && (deletedAt === undefined || deletedAt > since),
    /** The post was published before `since` for everybody who may see it, and it is not deleted. */
    stoodSince: ({ post, landedAt, ackedAt = Infinity, deletedAt }: PostFact, since: number): boolean =>
      deletedAt === undefined && (post.audience === undefined ? landedAt : ackedAt) <= since,
  }
}

export function nameOf({ id, author, audience }: Post): string {
  return `post ${id} of ${author}${audience === undefined ? '' : ` for ${audience.join(', ')}`}`
}

export function hides(words: readonly string[], text: string): boolean {
  return words.some((word) => text.includes(word))
}

function followText(viewer: ViewerId, author: ViewerId): string {
  return `${viewer} ${author}`
}

function valuesSince<T>(changes: Changes<T>, since: number, first: T): T[] {
  const later = changes.findIndex(({ at }) => at > since)
  if (later < 0) return [changes.at(-1)?.value ?? first]
  return [changes[later - 1]?.value ?? first, ...changes.slice(later).map(({ value }) => value)]
}
