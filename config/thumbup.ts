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
    enabled: z.boolean().default(true).describe('Whether viewers can like its subjects. It has no effect if `deleted` is set.'),
    dislikes: z
      .boolean()
      .default(true)
      .describe('Whether viewers can dislike its subjects. If not, `DISLIKE` is refused with `DISLIKES_OFF`.'),
    likesCap: count(10, 100_000)
      .default(1_000)
      .describe('Likes of a viewer in the hot store, and as many dislikes. Older ones are read from the record store.'),
    marksPerSecondMax: count(1, 10_000_000)
      .optional()
      .describe(
        'Marks per second that one process takes for this business, with bursts of one second. Further marks are refused with `QUOTA_EXCEEDED`.',
      ),
    marksMax: count(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Stored likes and dislikes of this business. Beyond this limit new marks are refused with `QUOTA_EXCEEDED`; stored marks can still be repeated, changed and undone. Stored marks are summed up at 5,000 subjects per second, so the limit takes effect late.',
      ),
    stores: z
      .object({
        data: z.string().min(1).optional().describe('Data folder of this business, in the embedded shape.'),
        redis: redisSchema.optional().describe('Hot store of this business, in the distributed shape.'),
        mysql: mysqlSchema.optional().describe('Database or schema of this business, in the distributed shape.'),
      })
      .strict()
      .optional()
      .describe('Stores for the marks of this business alone. Outages of other stores do not affect it.'),
    deleted: z
      .boolean()
      .default(false)
      .describe('Whether the business is deleted. Its marks are refused with `BUSINESS_DELETED`, and the stored ones are removed.'),
  })
  .strict()

const windowSchema = {
  flushAgeMaxMs: count(1, 3_600_000).default(1_000).describe('A region is flushed when its oldest key has this age.'),
  flushKeysMax: count(1, 100_000).default(500).describe('A region is flushed when the aggregator holds this many keys of it.'),
  aggregatorKeysMax: count(1, 10_000_000)
    .default(1_000_000)
    .describe('Keys of all regions that the aggregator holds. Further keys are left to the sweeper.'),
  windowMs: count(0, 600_000)
    .default(10_000)
    .describe(
      'A job collects for this long and then persists in one step, so the counts of a subject are updated once per window. Other viewers see a mark after `flushAgeMaxMs` and one or two windows.',
    ),
  windowKeysMax: count(1, 10_000_000).default(200_000).describe('A window with this many keys is persisted early.'),
  persistKeysMax: count(1, 100_000).default(20_000).describe('Keys of one transaction.'),
}

/** The section `thumbup`. */
export const thumbupSchema = z
  .object({
    ...windowSchema,
    sweepAfterMs: count(1, DAY)
      .optional()
      .describe(
        'The sweeper persists a dirty mark of this age, because no flush carried it. Default: a minute, or twice the sum of `flushAgeMaxMs` and two windows if that is more.',
      ),
    sweepEveryMs: count(1, DAY).default(15_000).describe('Interval between two sweeps.'),
    publishEveryMs: count(1, DAY).default(2_000).describe('Interval between two checks for events that have not reached the log.'),
    tombstoneMs: count(MINUTE, 3_650 * DAY)
      .default(30 * DAY)
      .describe('An undone mark is remembered for this long, so that an older mark that arrives late has no effect.'),
    idleMs: count(2 * DAY, 3_650 * DAY)
      .default(90 * DAY)
      .describe(
        'The marks of a viewer leave Redis after this long without a change. The next visit reads them from the record store. The value in effect is at least a day more than `tombstoneMs`.',
      ),
    purgeEveryMs: count(1, 7 * DAY)
      .default(3_600_000)
      .describe('Interval between two rounds that remove tombstones, archive old marks and remove deleted businesses.'),
    archiveAfterDays: z
      .union([count(1, 36_500), z.literal('never')], {
        errorMap: () => ({ message: 'give a whole number of days from 1 to 36500, or "never"' }),
      })
      .default(365)
      .describe('A mark of this age moves into compact blocks, or never with `never`.'),
    reconcileEveryMs: count(1, DAY).default(1_000).describe('Interval between two pages of subjects that are recounted.'),
    hotTtlMs: count(0, 60_000)
      .default(1_000)
      .describe('Time for which a process serves the counts of a hot subject from its own memory. 0: never.'),
    hotBytesMax: count(65_536, 4_294_967_296).default(16_777_216).describe('Memory for these counts, per process.'),
    changes: feedSchema.default({}).describe('The source that caches of counts follow.'),
    countsWindowMs: count(10, 600_000)
      .default(1_000)
      .describe('Interval between two events of `countsChanged`. A change is reported at most this much later.'),
  })
  .strict()
  .transform((thumbup) => ({ ...thumbup, sweepAfterMs: thumbup.sweepAfterMs ?? Math.max(MINUTE, 2 * persistedWithinMs(thumbup)) }))

/** The longest wait of a mark that a flush carries: its flush may just miss a window and wait for the next one. */
function persistedWithinMs({ flushAgeMaxMs, windowMs }: { flushAgeMaxMs: number; windowMs: number }): number {
  return flushAgeMaxMs + 2 * windowMs
}

export type ThumbupConfig = z.infer<typeof thumbupSchema>
export type BusinessThumbup = z.infer<typeof businessThumbupSchema>

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
