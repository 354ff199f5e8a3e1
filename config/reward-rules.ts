/** The rules for rewards of a day, from the configuration. A business that is not configured has the common time zone. */
import { ALL_BUSINESSES, type RewardKind } from '../core/domain.ts'
import type { RewardRules } from '../core/rewards.ts'
import type { Businesses } from './businesses.ts'
import type { RewardsConfig } from './rewards.ts'

const SETTINGS = { FIRST_VIEW: 'firstView', FIRST_PLAY: 'firstPlay', FIRST_ISSUE: 'firstIssue' } as const satisfies Record<
  RewardKind,
  keyof RewardsConfig
>

export function makeRewardRules(rewards: RewardsConfig, businesses: Pick<Businesses, 'byNumber'>): RewardRules {
  const forAll = { timeZone: rewards.timeZone, business: ALL_BUSINESSES }
  return (kind, business) => {
    const setting = rewards[SETTINGS[kind]]
    if (setting === 'off') return undefined
    return setting === 'viewer' ? forAll : { timeZone: timeZoneOf(rewards, businesses, business), business }
  }
}

function timeZoneOf({ timeZone }: RewardsConfig, businesses: Pick<Businesses, 'byNumber'>, business: number): string {
  return businesses.byNumber(business)?.timeZone ?? timeZone
}
