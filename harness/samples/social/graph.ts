/**
 * A social graph of any size, the same for the same seed. The number of users that a viewer follows has a power law (Pareto) between two
 * bounds, and the followed users are drawn by Zipf's law, so a few users have most of the followers.
 *
 * No list is kept: the follows of a viewer are drawn again from the seed and the viewer's number, so a graph of millions of viewers needs
 * no memory.
 */
import { seededRandom } from '../../../core/random.ts'
import { makeZipf } from '../zipf.ts'

export type SocialGraphOptions = {
  seed: number
  /** Users, numbered from 0 by popularity. Each is a viewer and an author. */
  users: number
  followsMin: number
  followsMax: number
  /** Exponent of the Pareto law of follows. Lower values give more viewers with many follows. Default 1.2. */
  followsExponent?: number
  /** Exponent of Zipf's law of popularity. Default 0.9. */
  popularityExponent?: number
}

export type SocialGraph = {
  users: number
  /** The distinct users that this user follows, never the user alone. */
  followsOf(user: number): Uint32Array
}

export function makeSocialGraph(options: SocialGraphOptions): SocialGraph {
  const { seed, users, followsMin, followsMax, followsExponent = 1.2, popularityExponent = 0.9 } = options
  let random = seededRandom(seed)
  const drawUser = makeZipf(() => random(), users, popularityExponent)
  const most = Math.min(followsMax, users - 1)

  function countOf(): number {
    // The inverse of a Pareto distribution that ends at `most`.
    const ratio = (followsMin / most) ** followsExponent
    return Math.min(most, Math.floor(followsMin / (1 - random() * (1 - ratio)) ** (1 / followsExponent)))
  }

  return {
    users,
    followsOf(user) {
      random = seededRandom(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(user + 1, 0xc2b2ae35))
      const count = countOf()
      const follows = new Set<number>()
      while (follows.size < count) {
        // Popular users repeat often. A uniform draw ends the search for viewers who follow nearly everybody.
        const drawn = follows.size * 4 > users ? Math.floor(random() * users) : drawUser()
        if (drawn !== user) follows.add(drawn)
      }
      return Uint32Array.from(follows)
    },
  }
}
