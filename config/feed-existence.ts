/** The configuration of feed existence. */
import { z } from 'zod'
import { legacySchema } from './legacy.ts'
import { count, DAY, MINUTE } from './values.ts'

/** The section `existence`. */
export const existenceSchema = z
  .object({
    slots: count(3, 255)
      .default(6)
      .describe('Hours the ring goes round in: how long what is played may wait for a job before its slot is used again.'),
    shards: count(1, 1_000_000)
      .optional()
      .describe('Shards of an hour, a multiple of stores.regions; absent: the multiple that is nearest to 5,000.'),
    monthsBefore: count(0, 4).default(3).describe('Months before the current one in which what was played is not shown again.'),
    rate: z
      .number()
      .min(0.003)
      .max(0.2)
      .default(0.01)
      .describe('The share of what was never played that is hidden all the same: of all filters that are read, together.'),
    issuedCap: count(1, 10_000).default(100).describe('The last served that are remembered, per viewer and business.'),
    issuedMinAgeMs: count(0, DAY)
      .default(10 * MINUTE)
      .describe(
        'Milliseconds for which a served one is remembered although newer ones exceed the cap, so that devices do not push each other out.',
      ),
    issuedHardCap: count(1, 100_000).default(1_000).describe('Served ones that are remembered at most, however new they are.'),
    issuedTtlMs: count(60 * MINUTE, 366 * DAY)
      .default(7 * DAY)
      .describe(
        'Milliseconds after which a viewer who was served nothing more is forgotten what he was served, per business; on the embedded store, with the next purge.',
      ),
    stagedMax: count(1, 1_000_000)
      .default(2_000)
      .describe('Plays of an hour that a viewer may have staged; beyond it they are folded into his filter early.'),
    stagedHardMax: count(1, 1_000_000)
      .default(20_000)
      .describe(
        'Plays of an hour that a viewer may have staged while they cannot be folded, because the record store is down or takes no more of his; `recordPlayed` is refused beyond it.',
      ),
    futureMaxMs: count(0, DAY)
      .default(5 * MINUTE)
      .describe('How far playedAt may lie ahead of the clock of the server, in milliseconds.'),
    cacheBytesMax: count(65_536, 68_719_476_736).default(134_217_728).describe('Bytes of memory for filters that a process keeps.'),
    cacheTtlMs: count(0, 3_600_000)
      .default(3_600_000)
      .describe('Milliseconds for which a kept filter is used at most; a fold of its viewer ends that at once.'),
    idleFromHour: count(0, 23).default(0).describe('The local hour at which few are awake: filters expire from then on.'),
    idleHours: count(1, 24).default(5).describe('Hours over which the filters of a day expire.'),
    utcOffsetMinutes: count(-720, 840).default(0).describe('Minutes that the local time of the viewers is ahead of UTC.'),
    settleMs: count(0, 1_800_000)
      .default(MINUTE)
      .describe('Milliseconds after the end of an hour from which on its slot is folded; the clocks of servers may differ by that much.'),
    foldEveryMs: count(1, 3_600_000)
      .default(10_000)
      .describe('Milliseconds between two looks for slots to fold, and until one that failed is tried again.'),
    foldKeysMax: count(1, 100_000).default(500).describe('Viewers one step of the job folds.'),
    foldsAtOnce: count(1, 64).default(2).describe('Steps of a job under way at once.'),
    purgeEveryMs: count(1, 7 * DAY)
      .default(10 * MINUTE)
      .describe('Milliseconds between two purges of expired filters, and on the embedded store of what was served.'),
    fromHistory: z
      .boolean()
      .default(true)
      .describe('Whether what history persists, and was really watched (businesses[].playedFrom), counts as played.'),
    guardsResume: z
      .boolean()
      .optional()
      .describe(
        "Whether a resume point that the hot timeline has no more is looked for only where the viewer's filters say that he played the subject; absent: as fromHistory, without which it is not possible. Filters know what was played since they are kept, in the months that they are read for.",
      ),
    rewards: z
      .array(z.enum(['play', 'issue']))
      .max(2)
      .default(['play', 'issue'])
      .describe(
        'Which firsts of a day earn an event in the topic of rewards, besides the first view: of what is played, of what is served.',
      ),
    sampleEvery: count(0, 1_000_000_000)
      .default(1_000)
      .describe('One in so many calls of unseen measures how much filters hide wrongly; 0: none.'),
    legacy: legacySchema.optional().describe('The Redis of sorted sets that viewers are moved from; absent: nobody is.'),
  })
  .strict()

export type ExistenceConfig = z.infer<typeof existenceSchema>

/** Types of schema/feed-existence.graphql, which no entity may be called. */
export const EXISTENCE_TYPES = ['Unseen', 'Seen', 'SeenReason', 'RecordIssuedPayload', 'RecordPlayedPayload', 'WhyHidden', 'FilterAnswer']

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
      'existence.guardsResume needs existence.fromHistory, or resume points are missing of all that history alone knows: leave guardsResume out, or set fromHistory to true',
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
      `existence.issuedTtlMs (${issuedTtlMs}) must be at least existence.issuedMinAgeMs (${issuedMinAgeMs}), or what was served is forgotten before it may be`,
    )
  }
  if (stagedHardMax < stagedMax) {
    mistakes.push(
      `existence.stagedHardMax (${stagedHardMax}) must be at least existence.stagedMax (${stagedMax}), or viewers are refused before they are folded`,
    )
  }
  return mistakes
}
