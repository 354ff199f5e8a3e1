/** A device of a viewer, and its random input. */
import type { ViewerId } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { SCOPE_COUNTS_WRITE, type Viewer } from '../../../core/viewer.ts'
import type { CountEventInput, PublishPostInput } from '../../../subgraphs/feed/inputs.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { makeDice } from '../dice.ts'
import type { FeedClientOptions } from './draws.ts'
import type { ListName } from './page-rules.ts'
import type { FeedProcess } from './process.ts'
import type { PostFact, Truths } from './truth.ts'

/** A list that a device reads page by page. `isWhole`: no page lacked a store. */
export type Scroll = {
  list: ListName
  first: number
  after: string | undefined
  before: PostId | undefined
  since: number
  seen: Set<PostId>
  isWhole: boolean
}

export type SentPost = PublishPostInput & { sentAt: number }

export type Client = {
  viewer: Viewer
  name: string
  /** Undefined while the device does nothing. */
  process: FeedProcess | undefined
  /** The last posts, which the device may send again. */
  sent: SentPost[]
  scroll: Scroll | undefined
}

export const WORDS = ['red', 'blue', 'sun', 'rain'] as const

export function makeDevicesOf({ viewers, devices }: FeedClientOptions): Client[] {
  return viewers.flatMap((viewer) =>
    Array.from({ length: devices }, (_, device): Client => {
      const name = `${viewer}/${device}`
      return { viewer: { id: viewer, scopes: [SCOPE_COUNTS_WRITE] }, name, process: undefined, sent: [], scroll: undefined }
    }),
  )
}

export type FeedInputs = ReturnType<typeof makeFeedInputs>

export function makeFeedInputs(random: Random, { posts }: Truths, options: FeedClientOptions) {
  const { pick } = makeDice(random)
  let made = 0

  /** A recent post more often than an old one. Undefined: there is none. */
  function knownPost(isWanted: (fact: PostFact) => boolean = () => true): PostId | undefined {
    const facts = [...posts.values()].filter(isWanted)
    if (facts.length === 0) return undefined
    return facts[facts.length - 1 - Math.floor(randomBelow(random, facts.length) * random())]?.post.id
  }

  function someWords(max: number): string[] {
    return [...new Set(Array.from({ length: randomBelow(random, max + 1) }, () => pick(WORDS)))]
  }

  function post(now: number): SentPost {
    made++
    const isRestricted = random() < options.restrictedShare
    const source = random() < 0.25 ? knownPost() : undefined
    return {
      clientKey: `key ${made}`,
      text: [`text ${made}`, ...someWords(1)].join(' '),
      media: random() < 0.1 ? ['https://example.org/picture.png'] : [],
      ...(source === undefined ? {} : { source }),
      ...(isRestricted ? { audience: others(1 + randomBelow(random, 3)) } : {}),
      sentAt: now,
    }
  }

  function others(max: number): ViewerId[] {
    return [...new Set(Array.from({ length: max }, () => pick(options.viewers)))]
  }

  function event(id: PostId): CountEventInput {
    made++
    return { key: `event ${made}`, id, counter: random() < 0.7 ? 'COMMENT' : 'READ', delta: 1 + randomBelow(random, 3) }
  }

  return { knownPost, someWords, post, others, event }
}
