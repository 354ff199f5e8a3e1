/** The configuration of rewards of a day. */
import { z } from 'zod'
import { isTimeZone } from '../core/days.ts'

const PER = ['business', 'viewer', 'off'] as const

const per = (event: string) =>
  z
    .enum(PER)
    .default('business')
    .describe(
      `The reward of the first ${event} of a day: once per viewer and business (\`business\`), once per viewer for all businesses (\`viewer\`), or never (\`off\`).`,
    )

export const timeZoneSchema = z.string().refine(isTimeZone, {
  message: 'there is no such time zone: give a name of the tz database such as Europe/Berlin, an offset such as +09:00, or UTC',
})

/** The section `rewards`. */
export const rewardsSchema = z
  .object({
    timeZone: timeZoneSchema
      .default('UTC')
      .describe(
        'The time zone of the days: a name of the tz database, or an offset such as `+09:00`. A business may have another one (`businesses[].timeZone`). Rewards per viewer always use this one.',
      ),
    firstView: per('report'),
    firstPlay: per('play'),
    firstIssue: per('issue'),
  })
  .strict()

export type RewardsConfig = z.infer<typeof rewardsSchema>
