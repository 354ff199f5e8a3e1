/**
 * Traffic of a feed, the same for the same seed: home pages, reads of single posts, publications, reposts and follows, in order of time.
 * Readers and publishers are drawn by Zipf's law.
 *
 * From `event.atMs` on, the rate doubles within a second, and half of the reads of single posts go to `event.share` of the posts: those of
 * the event.
 */
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { makeZipf } from '../zipf.ts'

export type Visit =
  | { atMs: number; kind: 'page'; viewer: number }
  /** `post`: a rank among all posts, 0 the most read. */
  | { atMs: number; kind: 'read'; viewer: number; post: number }
  | { atMs: number; kind: 'publish'; viewer: number; isRepost: boolean; isRestricted: boolean }
  | { atMs: number; kind: 'follow' | 'unfollow'; viewer: number; target: number }

export type TrafficOptions = {
  seed: number
  users: number
  posts: number
  durationMs: number
  /** Visits per second before the event. */
  perSecond: number
  /** Shares of the visits. The rest are home pages. Defaults: 0.4, 0.02, 0.01. */
  reads?: number
  publishes?: number
  follows?: number
  event?: { atMs: number; untilMs: number; share: number }
}

/** Milliseconds in which the rate doubles. */
const RISE_MS = 1_000

export function* makeTraffic(options: TrafficOptions): Generator<Visit> {
  const { seed, users, posts, durationMs, perSecond, reads = 0.4, publishes = 0.02, follows = 0.01, event } = options
  const random = seededRandom(seed)
  const drawUser = makeZipf(random, users, 0.8)
  const drawPost = makeZipf(random, posts, 0.9)
  const hot = Math.max(1, Math.floor(posts * (event?.share ?? 0)))
  let atMs = 0
  for (;;) {
    atMs += (-Math.log(1 - random()) * 1_000) / (perSecond * loadAt(atMs, event))
    if (atMs >= durationMs) return
    const viewer = drawUser()
    const kind = random()
    if (kind < publishes) yield { atMs, kind: 'publish', viewer, isRepost: random() < 0.3, isRestricted: random() < 0.05 }
    else if (kind < publishes + follows) yield drawFollow(random, atMs, viewer, drawUser())
    else if (kind < publishes + follows + reads) {
      const isHot = event !== undefined && atMs >= event.atMs && atMs < event.untilMs && random() < 0.5
      yield { atMs, kind: 'read', viewer, post: isHot ? randomBelow(random, hot) : drawPost() }
    } else yield { atMs, kind: 'page', viewer }
  }
}

/** 1 before and after the event, 2 during it. */
export function loadAt(atMs: number, event: TrafficOptions['event']): number {
  if (event === undefined || atMs < event.atMs || atMs >= event.untilMs) return 1
  return 1 + Math.min(1, (atMs - event.atMs) / RISE_MS)
}

function drawFollow(random: Random, atMs: number, viewer: number, target: number): Visit {
  return { atMs, kind: random() < 0.7 ? 'follow' : 'unfollow', viewer, target }
}
