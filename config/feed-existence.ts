/** The configuration of feed existence. */
import { z } from 'zod'
import { legacySchema } from './legacy.ts'
import { count, DAY, MINUTE } from './values.ts'

/** The section `existence`. */
export const existenceSchema = z
  .object({
    slots: count(3, 255)
      .default(6)
      .describe('Hourly slots of the ring. A play can wait this many hours for a job before its slot is used again.'),
    shards: count(1, 1_000_000)
      .optional()
      .describe('Shards of an hour, a multiple of `stores.regions`. Default: the multiple that is nearest to 5,000.'),
    monthsBefore: count(0, 4).default(3).describe('Earlier months in which a play still hides its subject, besides the current month.'),
    rate: z
      .number()
      .min(0.003)
      .max(0.2)
      .default(0.01)
      .describe('The share of never played subjects that may be hidden, over all filters that are read together.'),
    issuedCap: count(1, 10_000).default(100).describe('Served subjects that are remembered, per viewer and business.'),
    issuedMinAgeMs: count(0, DAY)
      .default(10 * MINUTE)
      .describe(
        'A served subject is remembered for this long even if newer ones exceed the cap, so that devices do not push out the subjects of each other.',
      ),
    issuedHardCap: count(1, 100_000).default(1_000).describe('Upper limit of remembered subjects, however new they are.'),
    issuedTtlMs: count(60 * MINUTE, 366 * DAY)
      .default(7 * DAY)
      .describe(
        'The served subjects of a viewer in a business are forgotten this long after the last one. On the embedded store this happens with the next purge.',
      ),
    stagedMax: count(1, 1_000_000)
      .default(2_000)
      .describe('Staged plays of one viewer and hour. Beyond this limit they are folded into the filter early.'),
    stagedHardMax: count(1, 1_000_000)
      .default(20_000)
      .describe(
        'Staged plays of one viewer and hour while they cannot be folded, because the record store is down or the filter is full. Beyond this limit `recordPlayed` is refused.',
      ),
    futureMaxMs: count(0, DAY)
      .default(5 * MINUTE)
      .describe('Accepted lead of `playedAt` over the clock of the server.'),
    cacheBytesMax: count(65_536, 68_719_476_736).default(134_217_728).describe('Memory for cached filters, per process.'),
    cacheTtlMs: count(0, 3_600_000)
      .default(3_600_000)
      .describe('Time for which a cached filter is used. A fold of its viewer ends it at once.'),
    idleFromHour: count(0, 23).default(0).describe('The local hour with little traffic. Filters expire from this hour on.'),
    idleHours: count(1, 24).default(5).describe('Duration over which the filters of a day expire.'),
    utcOffsetMinutes: count(-720, 840).default(0).describe('Offset of the local time of the viewers from UTC.'),
    settleMs: count(0, 1_800_000)
      .default(MINUTE)
      .describe('A slot is folded this long after its hour ends. The clocks of servers may differ by this much.'),
    foldEveryMs: count(1, 3_600_000)
      .default(10_000)
      .describe('Interval between two checks for slots to fold, and between two tries of a failed fold.'),
    foldKeysMax: count(1, 100_000).default(500).describe('Viewers of one fold step.'),
    foldsAtOnce: count(1, 64).default(2).describe('Concurrent fold steps of a job.'),
    purgeEveryMs: count(1, 7 * DAY)
      .default(10 * MINUTE)
      .describe('Interval between two purges of expired filters, and on the embedded store also of served subjects.'),
    fromHistory: z
      .boolean()
      .default(true)
      .describe('Whether a report of progress counts as a play if its position reaches `businesses[].playedFrom`.'),
    guardsResume: z
      .boolean()
      .optional()
      .describe(
        "Whether a resume point that left the hot timeline is read from the record store only if the viewer's filters have the subject. Needs `fromHistory`. Default: as `fromHistory`. Resume points that no filter knows, such as those from before `fromHistory` was switched on, are then found only in the pages of the history.",
      ),
    sampleEvery: count(0, 1_000_000_000)
      .default(1_000)
      .describe('One call of `unseen` in this number measures the false positives of filters. 0: none.'),
    legacy: legacySchema.optional().describe('The legacy store: a Redis of sorted sets from which viewers are migrated.'),
  })
  .strict()

export type ExistenceConfig = z.infer<typeof existenceSchema>

const SHARDS = 5_000

/** True if the filters may guard resume points. Not if filters may lack plays that history has. */
export function guardsResume({ guardsResume, fromHistory }: ExistenceConfig): boolean {
  return guardsResume ?? fromHistory
}

/** The shape of the ring. */
export function ringOf({ existence, stores }: { existence: ExistenceConfig; stores: { regions: number } }): {
  slots: number
  shards: number
} {
  const { regions } = stores
  return { slots: existence.slots, shards: existence.shards ?? Math.max(1, Math.round(SHARDS / regions)) * regions }
}

/** Relations between values, each with its reason. */
export function existenceMistakes(existence: ExistenceConfig, regions: number): string[] {
  const mistakes: string[] = []
  const { shards, issuedCap, issuedMinAgeMs, issuedHardCap, issuedTtlMs, stagedMax, stagedHardMax } = existence
  if (guardsResume(existence) && !existence.fromHistory) {
    mistakes.push(
      'existence.guardsResume needs existence.fromHistory, or subjects that only history knows have no resume point: leave guardsResume out, or set fromHistory to true',
    )
  }
  if (shards !== undefined && shards % regions !== 0) {
    mistakes.push(
      `existence.shards (${shards}) must be a multiple of stores.regions (${regions}), so that each shard belongs to one region: leave it out, or give ${Math.max(1, Math.round(shards / regions)) * regions}`,
    )
  }
  if (issuedHardCap < issuedCap) {
    mistakes.push(
      `existence.issuedHardCap (${issuedHardCap}) must be at least existence.issuedCap (${issuedCap}), or the cap is never reached`,
    )
  }
  if (issuedTtlMs < issuedMinAgeMs) {
    mistakes.push(
      `existence.issuedTtlMs (${issuedTtlMs}) must be at least existence.issuedMinAgeMs (${issuedMinAgeMs}), or served subjects are forgotten too early`,
    )
  }
  if (stagedHardMax < stagedMax) {
    mistakes.push(
      `existence.stagedHardMax (${stagedHardMax}) must be at least existence.stagedMax (${stagedMax}), or viewers are refused before they are folded`,
    )
  }
  return mistakes
}
