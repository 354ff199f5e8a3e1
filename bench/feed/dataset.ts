/**
 * A social graph with posts, marks and counts, the same for every store of a run: the product and its peers answer the same pages.
 *
 * Users follow by `makeSocialGraph`. The viewers that are measured follow 2,000 users each, unless another number is given. All posts are older than the time for which the hot
 * store keeps changes, as nearly all posts of a large site are. They are written into the record store directly.
 */
import { randomBelow, seededRandom } from '../../core/random.ts'
import { regionOf } from '../../core/regions.ts'
import type { ViewerId } from '../../core/domain.ts'
import type { Facts } from '../../harness/samples/stored-facts.ts'
import { makeSocialGraph } from '../../harness/samples/social/graph.ts'
import { makeZipf } from '../../harness/samples/zipf.ts'
import type { Post } from '../../subgraphs/feed/model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf, postTick } from '../../subgraphs/feed/packed/post-id.ts'

const FOLLOWS = 2_000
/** The default of `stores.regions`. */
const REGIONS = 100
const DAY_MS = 86_400_000
/** The default of `feed.keepMs` is 7 days. */
const NEWEST_AGE_MS = 8 * DAY_MS
const SPAN_MS = 30 * DAY_MS
const LIKES_EACH = 100
const SEEN_EACH = 100
/** Marks go to the newest posts, which pages show. */
const MARKED_SHARE = 0.02

export type DatasetOptions = {
  authors: number
  postsEach: number
  viewers: number
  followers: number
  /** Of each measured viewer. Default: 2,000. */
  followsEach?: number
}

export type Dataset = {
  authors: readonly ViewerId[]
  /** In order of time. */
  posts: readonly Post[]
  /** The measured viewers, and whom each follows. */
  follows: readonly Facts[]
  likes: readonly Facts[]
  seen: readonly Facts[]
  /** Of the newest posts. */
  counts: readonly PostCounts[]
  /** An author whom many follow, and those followers. None of them is measured. */
  popular: { author: ViewerId; followers: readonly ViewerId[] }
}

export type PostCounts = { id: string; reposts: number; comments: number; reads: number }

export function makeDataset({ authors, postsEach, viewers, followers, followsEach = FOLLOWS }: DatasetOptions): Dataset {
  const random = seededRandom(16)
  const graph = makeSocialGraph({ seed: 16, users: authors, followsMin: followsEach, followsMax: followsEach })
  const names = Array.from({ length: authors }, (_, user) => String(user + 1))
  const posts = makePosts(names, postsEach)
  const newest = posts.slice(-Math.ceil(posts.length * MARKED_SHARE)).reverse()
  const drawPost = makeZipf(random, newest.length, 0.9)
  const some = (count: number): string[] =>
    Array.from(new Set(Array.from({ length: count }, drawPost)), (rank) => (newest[rank] as Post).id)
  const reposts = new Map<string, number>()
  for (const { source } of posts) if (source !== undefined) reposts.set(source, (reposts.get(source) ?? 0) + 1)
  const measured = names.slice(0, viewers)
  return {
    authors: names,
    posts,
    follows: measured.map((viewer, user) => ({ viewer, oids: Array.from(graph.followsOf(user), (other) => names[other] as string) })),
    likes: measured.map((viewer) => ({ viewer, oids: some(LIKES_EACH) })),
    seen: measured.map((viewer) => ({ viewer, oids: some(SEEN_EACH) })),
    counts: newest.map(({ id }) => ({
      id,
      reposts: reposts.get(id) ?? 0,
      comments: 1 + randomBelow(random, 100),
      reads: 1 + randomBelow(random, 10_000),
    })),
    popular: { author: String(1_000_000), followers: Array.from({ length: followers }, (_, at) => String(2_000_000 + at)) },
  }
}

function makePosts(authors: readonly ViewerId[], each: number): Post[] {
  const random = seededRandom(61)
  const end = (Date.now() - NEWEST_AGE_MS - POST_EPOCH_MS) * TICKS_PER_MS
  const span = SPAN_MS * TICKS_PER_MS
  const count = authors.length * each
  // One post in each equal part of the span, so no two have the same tick.
  const step = Math.floor(span / count)
  return Array.from({ length: count }, (_, at) => {
    const author = authors[randomBelow(random, authors.length)] as string
    const tick = postTick(end - span + at * step + randomBelow(random, step - 1), false)
    return {
      id: postIdOf(tick, regionOf(author, REGIONS)),
      author,
      text: `post ${at} of ${author}: ${'a sentence of some length '.repeat(1 + randomBelow(random, 7))}`,
      media: at % 3 === 0 ? [`https://media.example/${at}.jpg`] : [],
      source: undefined,
      audience: undefined,
      clientKey: `k${at}`,
      version: tick,
      deleted: false,
    }
  }).map((post, at, all) => (at % 5 === 4 ? { ...post, source: (all[at - 3] as Post).id } : post))
}
