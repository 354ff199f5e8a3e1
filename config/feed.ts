/** The configuration of the feed. */
import { z } from 'zod'
import { count, DAY, MINUTE } from './values.ts'

/** The number of the internal business whose likes are follows. No configured business may have it. */
export const FOLLOW_BUSINESS = 65_535

/** The section `feed`. */
export const feedSectionSchema = z
  .object({
    business: z
      .string()
      .default('post')
      .describe('The business whose subjects are the posts. Without such a business there is no feed. Never change it.'),
    followsMax: count(1, 5_000).default(5_000).describe('Users that a viewer may follow.'),
    keepMs: count(10 * MINUTE, 90 * DAY)
      .default(7 * DAY)
      .describe('Posts, changes and client keys stay in the hot store for this long, and for as long as they are not persisted.'),
    noticeEveryMs: count(10, MINUTE).default(1_000).describe('Interval between two events of `homeFeedChanged`.'),
    readSample: count(0, 1_000_000)
      .default(0)
      .describe(
        'Reads of posts are counted in `readCount` from reports of progress: one first play of a day in this many, with this weight. 1 counts each of them, 0 none.',
      ),
    flushAgeMaxMs: count(1, 3_600_000).default(1_000).describe('A region is flushed when its oldest key has this age.'),
    flushKeysMax: count(1, 100_000).default(500).describe('A region is flushed when the aggregator holds this many keys of it.'),
    aggregatorKeysMax: count(1, 10_000_000)
      .default(1_000_000)
      .describe('Keys of all regions that the aggregator holds. Further keys are left to the sweeper.'),
    persistKeysMax: count(1, 100_000).default(5_000).describe('Keys of one persist step.'),
    sweepAfterMs: count(1, DAY).default(MINUTE).describe('The sweeper persists a dirty mark of this age, because no flush carried it.'),
    sweepEveryMs: count(1, DAY).default(15_000).describe('Interval between two sweeps.'),
    countsWindowMs: count(0, 600_000)
      .default(1_000)
      .describe('A job collects changed counters for this long and then persists them in one step.'),
    tombstoneMs: count(MINUTE, 3_650 * DAY)
      .default(30 * DAY)
      .describe('The record store remembers a deleted post for this long, so that an older version that arrives late has no effect.'),
    purgeEveryMs: count(1, 7 * DAY)
      .default(10 * MINUTE)
      .describe('Interval between two rounds that remove old changes from the hot store and tombstones from the record store.'),
  })
  .strict()

export type FeedConfig = z.infer<typeof feedSectionSchema>

type Business = { name: string; number: number; thumbup: { enabled: boolean; deleted: boolean } }

/** The business of the posts. Undefined: the configuration has no feed. */
export function postBusinessOf<B extends Pick<Business, 'name'>>({
  feed,
  businesses,
}: {
  feed: FeedConfig
  businesses: readonly B[]
}): B | undefined {
  return businesses.find(({ name }) => name === feed.business)
}

/** True if this configuration has a feed. */
export function hasFeed(config: { feed: FeedConfig; businesses: readonly Pick<Business, 'name'>[] }): boolean {
  return postBusinessOf(config) !== undefined
}

/**
 * The longest life of a cached value, in ms, from the beginning of its load. Its end goes with it from pool to pool (`cache/node-client.ts`), so
 * copies do not prolong it. The minute is for clocks that differ: readers compare the end with their own.
 */
export function rememberMsOf({ cache }: { cache: { ttlMs: number } }): number {
  return cache.ttlMs + MINUTE
}

/** Relations between values, each with its reason. */
export function feedMistakes(config: { feed: FeedConfig; cache: { ttlMs: number }; businesses: readonly Business[] }): string[] {
  const { feed, businesses } = config
  const mistakes: string[] = []
  if (postBusinessOf(config) !== undefined && businesses.every(({ thumbup }) => !thumbup.enabled && !thumbup.deleted)) {
    mistakes.push(
      `feed.business: ${feed.business} needs a business with likes, because the job of likes also stores who follows whom: set thumbup.enabled of one`,
    )
  }
  const rememberMs = rememberMsOf(config)
  if (feed.keepMs < rememberMs) {
    mistakes.push(
      `feed.keepMs (${feed.keepMs}) must be at least cache.ttlMs and a minute (${rememberMs}), or a change is forgotten while a pool still has an older value`,
    )
  }
  if (feed.sweepAfterMs <= feed.flushAgeMaxMs) {
    mistakes.push(
      `feed.sweepAfterMs (${feed.sweepAfterMs}) must exceed feed.flushAgeMaxMs (${feed.flushAgeMaxMs}), or every key is persisted twice`,
    )
  }
  if (feed.aggregatorKeysMax < feed.flushKeysMax) {
    mistakes.push(
      `feed.aggregatorKeysMax (${feed.aggregatorKeysMax}) must be at least feed.flushKeysMax (${feed.flushKeysMax}), or no flush is ever full`,
    )
  }
  return mistakes
}
