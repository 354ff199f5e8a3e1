/** The reward of the first event of a day. */
import { dayOf } from './days.ts'
import { fnv1a } from './regions.ts'
import { ALL_BUSINESSES, type BusinessNumber, type RewardEvent, type RewardKind, type ViewerId } from './domain.ts'

/** The place of a kind is its number in stores and logs. */
export const REWARD_KINDS = ['FIRST_VIEW', 'FIRST_PLAY', 'FIRST_ISSUE'] as const satisfies readonly RewardKind[]

/**
 * The rule for the first event of a day in a business. `timeZone`: the calendar of the day. `business`: the business that the reward is for,
 * or ALL_BUSINESSES if it is earned once a day in all of them.
 */
export type RewardRule = { readonly timeZone: string; readonly business: BusinessNumber }

/** Undefined if such an event earns nothing. */
export type RewardRules = (kind: RewardKind, business: BusinessNumber) => RewardRule | undefined

/** The rules of a configuration that says nothing of rewards. */
export const DEFAULT_RULES: RewardRules = (_, business) => ({ timeZone: 'UTC', business })

/**
 * The day that a write claims for its viewer, as the service computed it. Stores compare the numbers and know no calendar. If `day` is
 * absent, no day is claimed. `dayForAll`: the day is claimed once for all businesses, and not once for the business of the write.
 */
export type DayClaim = { day?: number | undefined; dayForAll?: true | undefined }

/** The business of the flag and of the reward. */
export function claimedBusiness({ business, dayForAll }: DayClaim & { business: BusinessNumber }): BusinessNumber {
  return dayForAll === true ? ALL_BUSINESSES : business
}

export function claimOf({ business }: RewardRule, day: number): DayClaim {
  return business === ALL_BUSINESSES ? { day, dayForAll: true } : { day }
}

/** The day of a play: in the time zone of the reward for first plays, or UTC if there is none. */
export function playDayOf(rules: RewardRules, business: BusinessNumber, playedAt: number): number {
  return dayOf(rules('FIRST_PLAY', business)?.timeZone ?? 'UTC', playedAt)
}

/** Views have no kind: their ids are older than kinds. A business's number never equals a kind. */
const ENDINGS = { FIRST_VIEW: '', FIRST_PLAY: '.play', FIRST_ISSUE: '.issue' } as const satisfies Record<RewardKind, string>

/** The id is the same for every repetition of the claim, from any sender. */
export function rewardOf(viewer: ViewerId, business: BusinessNumber, day: number, kind: RewardKind = 'FIRST_VIEW'): RewardEvent {
  return { id: `${day}.${viewer}.${business}${ENDINGS[kind]}`, viewer, business, day, kind }
}

/**
 * The day token saves the check for the first view, play or issue of the day: a client that sends it back has been checked. It can only opt
 * out of a reward, so it needs no secret. It names viewer, business, kind and time zone. Two accounts on one device therefore do not skip
 * each other's check, and a token from before a change of the time zone is not taken for one of today.
 */
export function dayTokenOf(viewer: ViewerId, { timeZone, business }: RewardRule, day: number, kind: RewardKind = 'FIRST_VIEW'): string {
  return `${day.toString(36)}.${fnv1a(`${kind}:${timeZone}:${business}:${viewer}`).toString(36)}`
}
