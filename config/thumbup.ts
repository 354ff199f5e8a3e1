/** The configuration of thumbup: per business, and for all businesses. */
import { resolve } from 'node:path'
import { z } from 'zod'
import { feedSchema } from './change-feed.ts'
import { placeMistakes } from './store-places.ts'
import { mysqlSchema, redisSchema, type storesSchema } from './stores.ts'
import { count, DAY, MINUTE } from './values.ts'

/** Under `thumbup` of a business. */
export const businessThumbupSchema = z
  .object({
    enabled: z.boolean().default(true).describe('Whether its subjects can be liked; where deleted is set, it says nothing.'),
    dislikes: z.boolean().default(true).describe('Whether they can be disliked; if not, DISLIKE is refused with DISLIKES_OFF.'),
    likesCap: count(10, 100_000)
      .default(1_000)
      .describe('Likes, and as many dislikes, that the hot store keeps per viewer; older ones are read from the record store.'),
    marksPerSecondMax: count(1, 10_000_000)
      .optional()
      .describe('Marks a second that one process takes for this business, a second of them at once; more are refused with QUOTA_EXCEEDED.'),
    marksMax: count(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Likes and dislikes this business may have stored; beyond it new ones are refused with QUOTA_EXCEEDED; what stands may be repeated, changed and undone, and nothing else. What is stored is summed up 5,000 subjects a second, so that some more are taken before it has an effect.',
      ),
    stores: z
      .object({
        data: z.string().min(1).optional().describe('In the embedded shape: a data folder of its own.'),
        redis: redisSchema.optional().describe('In the distributed shape: a hot store of its own.'),
        mysql: mysqlSchema.optional().describe('In the distributed shape: a database or schema of its own.'),
      })
      .strict()
      .optional()
      .describe('Stores for the marks of this business alone, so that nothing that happens to others happens to it.'),
    deleted: z
      .boolean()
      .default(false)
      .describe('The business has gone: its marks are refused with BUSINESS_DELETED, and what is stored of them is removed.'),
  })
  .strict()

const windowSchema = {
  flushAgeMaxMs: count(1, 3_600_000).default(1_000).describe('Milliseconds the oldest key of a region may wait for a flush.'),
  flushKeysMax: count(1, 100_000).default(500).describe('Keys a region may hold before it is flushed.'),
  aggregatorKeysMax: count(1, 10_000_000).default(1_000_000).describe('Keys all regions may hold together; more are left to the sweeper.'),
  windowMs: count(0, 600_000)
    .default(10_000)
    .describe(
      'Milliseconds that a job collects before it persists, in one step: a subject has one update of its counts per window. Others see a mark after flushAgeMaxMs and one or two windows.',
    ),
  windowKeysMax: count(1, 10_000_000).default(200_000).describe('Keys a window may hold before it is persisted early.'),
  persistKeysMax: count(1, 100_000).default(20_000).describe('Keys one transaction takes.'),
}

/** The section `thumbup`. */
export const thumbupSchema = z
  .object({
    ...windowSchema,
    sweepAfterMs: count(1, DAY)
      .optional()
      .describe(
        'Age in milliseconds at which a dirty mark that no flush carried is swept. Default: a minute, or twice flushAgeMaxMs and two windows if that is more.',
      ),
    sweepEveryMs: count(1, DAY).default(15_000).describe('Milliseconds between two sweeps.'),
    publishEveryMs: count(1, DAY).default(2_000).describe('Milliseconds between two looks for events that have not reached the log.'),
    tombstoneMs: count(MINUTE, 3_650 * DAY)
      .default(30 * DAY)
      .describe('Milliseconds an undone mark is remembered, so that an older mark that arrives late does not come back.'),
    idleMs: count(2 * DAY, 3_650 * DAY)
      .default(90 * DAY)
      .describe(
        'Milliseconds without a change after which the marks of a viewer leave Redis, to be read again from the record store when he comes; at least a day more than tombstoneMs, whatever stands here.',
      ),
    purgeEveryMs: count(1, 7 * DAY)
      .default(3_600_000)
      .describe('Milliseconds between two rounds that forget undone marks, archive old ones, and remove deleted businesses.'),
    archiveAfterDays: z
      .union([count(1, 36_500), z.literal('never')], {
        errorMap: () => ({ message: 'give a whole number of days from 1 to 36500, or "never"' }),
      })
      .default(365)
      .describe('Days after which a mark moves into compact blocks, or "never".'),
    reconcileEveryMs: count(1, DAY).default(1_000).describe('Milliseconds between two pages of subjects that are recounted.'),
    hotTtlMs: count(0, 60_000)
      .default(1_000)
      .describe('Milliseconds for which a process serves the counts of a hot subject by itself; 0: never.'),
    hotBytesMax: count(65_536, 4_294_967_296).default(16_777_216).describe('Bytes of memory for counts a process keeps by itself.'),
    changes: feedSchema.default({}).describe('The source that caches of counts follow.'),
    countsWindowMs: count(10, 600_000)
      .default(1_000)
      .describe('Milliseconds between two events of a subscription to counts: so much later, at most, it tells a change.'),
  })
  .strict()
  .transform((thumbup) => ({ ...thumbup, sweepAfterMs: thumbup.sweepAfterMs ?? Math.max(MINUTE, 2 * persistedWithinMs(thumbup)) }))

/** How long a mark waits to be persisted, if a flush carries it: one that comes right after a window of its partition waits for the next. */
function persistedWithinMs({ flushAgeMaxMs, windowMs }: { flushAgeMaxMs: number; windowMs: number }): number {
  return flushAgeMaxMs + 2 * windowMs
}

export type ThumbupConfig = z.infer<typeof thumbupSchema>
export type BusinessThumbup = z.infer<typeof businessThumbupSchema>

/** Types of schema/thumbup.graphql, which no entity may be called. */
export const THUMBUP_TYPES = [
  ...['BigCount', 'Mark', 'Thumbup', 'LikerConnection', 'LikerEdge', 'LikeConnection', 'LikeEdge', 'Like', 'MarkInput', 'MarkOutcome'],
  ...['MarkState', 'MarkPayload', 'SubjectInput', 'RegisterPayload', 'Reconciliation', 'CountDrift', 'OwnerDrift', 'CountsChange'],
  ...['ChangedCounts'],
]

/** Relations between values, each with its reason. */
export function thumbupMistakes(thumbup: ThumbupConfig, stores: Pick<z.infer<typeof storesSchema>, 'mysql'>): string[] {
  const mistakes: string[] = []
  const { feed } = thumbup.changes
  if (feed !== 'events' && stores.mysql === undefined) {
    mistakes.push(
      `thumbup.changes.feed: ${feed} follows a database of the distributed shape, and the embedded stores have none: leave it out, or set stores.redis, kafka and mysql`,
    )
  }
  const { sweepAfterMs, aggregatorKeysMax, flushKeysMax } = thumbup
  if (sweepAfterMs <= persistedWithinMs(thumbup)) {
    mistakes.push(
      `thumbup.sweepAfterMs (${sweepAfterMs}) must exceed thumbup.flushAgeMaxMs and two of thumbup.windowMs (${persistedWithinMs(thumbup)}), or every mark is persisted twice: raise it, or leave it out`,
    )
  }
  if (aggregatorKeysMax < flushKeysMax) {
    mistakes.push(
      `thumbup.aggregatorKeysMax (${aggregatorKeysMax}) must be at least thumbup.flushKeysMax (${flushKeysMax}), or no flush is ever full`,
    )
  }
  return mistakes
}

type Tenant = { name: string; thumbup: BusinessThumbup }

/** Checks businesses with their own stores: the stores fit the shape, and no other store shares their place. */
export function tenantMistakes(businesses: readonly Tenant[], stores: z.infer<typeof storesSchema>): string[] {
  const mistakes: string[] = []
  const isDistributed = stores.redis !== undefined
  const folders = new Map([[resolve(stores.data), 'stores.data']])
  for (const { name, thumbup } of businesses) {
    const own = thumbup.stores
    if (own === undefined) continue
    const place = `businesses: ${name}: thumbup.stores`
    if (isDistributed) {
      if (own.data !== undefined) mistakes.push(`${place}.data is for the embedded shape: give redis, mysql or both`)
      else if (own.redis === undefined && own.mysql === undefined)
        mistakes.push(`${place} is empty: give redis, mysql or both, or leave it out`)
      continue
    }
    if (own.redis === undefined && own.mysql === undefined) {
      if (own.data === undefined) mistakes.push(`${place} is empty: give data, a folder of its own, or leave it out`)
    } else mistakes.push(`${place}: redis and mysql are for the distributed shape: give data, a folder of its own`)
    if (own.data === undefined) continue
    const holder = folders.get(resolve(own.data))
    if (holder !== undefined) mistakes.push(`${place}.data is that of ${holder}: give it a folder of its own`)
    folders.set(resolve(own.data), name)
  }
  const tenants = businesses.flatMap(({ name, thumbup: { stores: own } }) => (own === undefined ? [] : [{ name, own }]))
  return isDistributed ? [...mistakes, ...placeMistakes(stores, tenants)] : mistakes
}
