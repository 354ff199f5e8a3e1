/** The counters of each business: those of posts and users, and those that the configuration names. */
import { postBusinessOf, type FeedConfig } from '../../../config/feed.ts'
import type { CounterSchemas } from '../model/counts.ts'
import { POST_COUNTERS, USERS, USER_COUNTERS } from '../model/post-events.ts'
import { makeCounterSchema } from '../packed/counter-schema.ts'

type Business = { name: string; number: number; counters?: Readonly<Record<string, number>> | undefined }

/** Throws CONFIG_INVALID for bits that are out of range. */
export function counterSchemasOf(config: { feed: FeedConfig; businesses: readonly Business[] }): CounterSchemas {
  const posts = postBusinessOf(config)
  const bits = config.businesses.map(
    ({ number, counters = {} }) => [number, number === posts?.number ? { ...POST_COUNTERS, ...counters } : counters] as const,
  )
  return new Map(
    [...bits, [USERS, USER_COUNTERS] as const].flatMap(([number, counters]) =>
      Object.keys(counters).length === 0 ? [] : [[number, makeCounterSchema<string>(counters)] as const],
    ),
  )
}
