/** The part of a history that writers and readers choose their targets from. */
import { randomBelow, type Random } from '../../../core/random.ts'
import type { ViewerId } from '../../../core/domain.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { CountedEvent, FeedHistory, Publication } from './history.ts'

export type KnownPost = { id: PostId; author: ViewerId; isPublic: boolean; publication: Publication }

export type Known = ReturnType<typeof makeKnown>

export function makeKnown(history: FeedHistory) {
  const posts: KnownPost[] = []
  const living = new Map<ViewerId, KnownPost[]>()
  const events: CountedEvent[] = []

  function livingOf(author: ViewerId): KnownPost[] {
    let own = living.get(author)
    if (own === undefined) living.set(author, (own = []))
    return own
  }

  return {
    history,
    /** A post that was published at some time, mostly a recent one. Undefined: there is none. */
    somePost(random: Random): KnownPost | undefined {
      return posts[posts.length - 1 - Math.floor(randomBelow(random, Math.max(1, posts.length)) * random())]
    },
    livingOf,
    published(post: KnownPost): void {
      posts.push(post)
      livingOf(post.author).push(post)
    },
    deleted({ id, author }: KnownPost): void {
      living.set(
        author,
        livingOf(author).filter((post) => post.id !== id),
      )
    },
    /** An event that was counted. */
    someEvent: (random: Random): CountedEvent | undefined => events[randomBelow(random, Math.max(1, events.length))],
    counted: (event: CountedEvent): void => void events.push(event),
  }
}
