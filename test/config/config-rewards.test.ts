import { describe, expect, test } from 'vitest'
import { makeBusinesses } from '../../config/businesses.ts'
import { makeConfig } from '../../config/config.ts'
import { makeRewardRules } from '../../config/reward-rules.ts'

const ADVICE = 'there is no such time zone: give a name of the tz database such as Europe/Berlin, an offset such as +09:00, or UTC'
const BUSINESSES = [
  { number: 1, name: 'video', entity: 'Video' },
  { number: 2, name: 'article', entity: 'Article', timeZone: 'Asia/Tokyo' },
]

function mistakesOf(values: object): string[] {
  try {
    makeConfig([{ name: 'test', values }])
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}
function rulesOf(rewards: object) {
  const config = makeConfig([{ name: 'test', values: { rewards, businesses: BUSINESSES } }])
  return makeRewardRules(config.rewards, makeBusinesses(config.businesses))
}

describe('the configuration of rewards', () => {
  test('a time zone that does not exist is one sentence with its value, its place and the remedy', () => {
    expect(mistakesOf({ rewards: { timeZone: 'Mars/Base' } })).toEqual([
      `rewards.timeZone: "Mars/Base" is not possible: ${ADVICE} (set in test)`,
    ])
    expect(mistakesOf({ businesses: [{ number: 1, name: 'video', entity: 'Video', timeZone: 'Berlin' }] })).toEqual([
      `businesses: video: timeZone: "Berlin" is not possible: ${ADVICE} (set in test)`,
    ])
    expect(mistakesOf({ rewards: { timeZone: 9 } })).toHaveLength(1)
  })

  test('the earlier setting is refused with the place to which it moved', () => {
    expect(mistakesOf({ existence: { rewards: ['play'] } })).toEqual([
      'existence.rewards is not a setting: it moved to rewards.firstPlay and rewards.firstIssue, see docs/operating/upgrade.md for their values (set in test)',
    ])
  })

  test('a kind has three values, and every other one is refused', () => {
    expect(mistakesOf({ rewards: { firstView: 'daily' } })).toEqual([
      'rewards.firstView: "daily" is not possible: say business or viewer or off (set in test)',
    ])
  })

  test('without settings, every kind is rewarded per business in UTC', () => {
    const rules = makeRewardRules(makeConfig([]).rewards, makeBusinesses(makeConfig([]).businesses))
    for (const kind of ['FIRST_VIEW', 'FIRST_PLAY', 'FIRST_ISSUE'] as const)
      expect(rules(kind, 3)).toEqual({ timeZone: 'UTC', business: 3 })
  })

  test('a business has its own zone or the common one, and a reward per viewer always has the common one', () => {
    const rules = rulesOf({ timeZone: 'Europe/Berlin', firstPlay: 'viewer', firstIssue: 'off' })
    expect([1, 2].map((business) => rules('FIRST_VIEW', business))).toEqual([
      { timeZone: 'Europe/Berlin', business: 1 },
      { timeZone: 'Asia/Tokyo', business: 2 },
    ])
    expect([1, 2].map((business) => rules('FIRST_PLAY', business))).toEqual([
      { timeZone: 'Europe/Berlin', business: 0 },
      { timeZone: 'Europe/Berlin', business: 0 },
    ])
    expect(rules('FIRST_ISSUE', 1)).toBeUndefined()
  })
})
