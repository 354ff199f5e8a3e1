/** The first play and the first issue of a day, from the claim to the rewards topic. */
import { graphql } from 'graphql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dayTokenOf } from '../../../core/rewards.ts'
import { utcDayOf } from '../../../core/days.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { BOTH_SHAPES, helpConfig, startTogether, type Together } from './with-history.ts'
import { until } from '../../../harness/until.ts'

const utc = (business: number) => ({ timeZone: 'UTC', business })

const DAY = 86_400_000
const viewerOf = (id: string) => ({ id, scopes: [] })

for (const { name, open } of BOTH_SHAPES) {
  describe(`firsts of the day, ${name}`, () => {
    let together: Together
    let today: number
    beforeEach(async () => {
      together = await startTogether(open)
      today = utcDayOf(Date.now())
    })
    afterEach(() => together.stop())

    const issue = (viewer: string, id: string, dayToken?: string, business = 'video') =>
      together.existence.service.recordIssued(viewerOf(viewer), business, [id], new Set(), dayToken)
    const play = (viewer: string, id: string, dayToken?: string, playedAt?: number) =>
      together.existence.service.recordPlayed(viewerOf(viewer), 'video', [id], playedAt, new Set(), dayToken)
    /** Waits until the log has this number of rewards, each at least once, without the rewards for views. */
    async function rewarded(count: number): Promise<string[]> {
      const own = () => [...new Set(together.rewards().filter((id) => !/\.\d+$/.test(id)))]
      await until(`${count} rewards`, () => own().length >= count)
      return own().toSorted()
    }
    const pending = () => together.stores.seenHot.listPendingRewards([0, 1, 2, 3], Date.now(), 100)

    test('the first of each kind is reported and rewarded once, and its token skips the check', async () => {
      const issued = await issue('7', 'a')
      expect(issued).toEqual({ recorded: true, dayToken: dayTokenOf('7', utc(1), today, 'FIRST_ISSUE'), firstOfDay: true })
      expect(await issue('7', 'b')).toEqual({ ...issued, firstOfDay: false })
      expect((await issue('7', 'c', undefined, 'article')).firstOfDay).toBe(true)
      const played = await play('7', 'a')
      expect(played).toMatchObject({ visible: true, dayToken: dayTokenOf('7', utc(1), today, 'FIRST_PLAY'), firstOfDay: true })
      expect(await play('7', 'b')).toEqual({ ...played, firstOfDay: false })
      expect(await rewarded(3)).toEqual([`${today}.7.1.issue`, `${today}.7.1.play`, `${today}.7.2.issue`])
      await until('they are confirmed', async () => (await pending()).length === 0)
      // A call with the token claims nothing, even if the first was not reported.
      expect(await issue('8', 'a', dayTokenOf('8', utc(1), today, 'FIRST_ISSUE'))).toMatchObject({ firstOfDay: false })
      expect((await issue('8', 'b')).firstOfDay).toBe(true)
    })

    test('a token of another viewer, business, kind or day does not skip the check', async () => {
      const others = [
        dayTokenOf('8', utc(1), today, 'FIRST_ISSUE'),
        dayTokenOf('9', utc(2), today, 'FIRST_ISSUE'),
        dayTokenOf('9', utc(1), today, 'FIRST_PLAY'),
        dayTokenOf('9', utc(1), today),
        dayTokenOf('9', utc(1), today - 1, 'FIRST_ISSUE'),
        'nonsense',
      ]
      expect(new Set([...others, dayTokenOf('9', utc(1), today, 'FIRST_ISSUE')]).size).toBe(7)
      for (const [at, token] of others.entries()) {
        const viewer = at === 0 ? '9' : `${at * 100 + 9}`
        expect((await issue(viewer, 'a', token)).firstOfDay).toBe(true)
      }
      expect((await issue('9', 'b', others[1])).firstOfDay).toBe(false)
    })

    test('a reward that did not reach the log is sent by the job, even after a crash', async () => {
      together.refuse('log', 'LOG_UNAVAILABLE')
      expect((await issue('7', 'a')).firstOfDay).toBe(true)
      // The state that a crash right after the claim leaves.
      const { issuedCap: cap, issuedMinAgeMs: minAgeMs, issuedHardCap: hardCap, issuedTtlMs: ttlMs } = together.config.existence
      await together.stores.seenHot.putIssued('8', 1, ['a'], { now: Date.now(), cap, minAgeMs, hardCap, ttlMs, day: today })
      expect(await pending()).toHaveLength(2)
      const job = await together.existence.startJob()
      await until('the job has tried', () => together.count('log.appendRewards') >= 3)
      expect(together.rewards()).toEqual([])
      together.refuse('log', undefined)
      expect(await rewarded(2)).toEqual([`${today}.7.1.issue`, `${today}.8.1.issue`])
      await until('they are confirmed', async () => (await pending()).length === 0)
      await job.stop()
    })

    test('plays of the log and of history earn the day of the play, if it is today or yesterday', async () => {
      const job = await together.existence.startJob()
      const now = Date.now()
      const at = (viewer: string, oid: string, playedAt: number) => ({ viewer, business: 1, oid, playedAt })
      await together.stores.plays.appendPlays([at('1', 'a', now), at('1', 'b', now - DAY), at('1', 'c', now - 2 * DAY), at('1', 'd', now)])
      await together.report('2', [
        { oid: 'a', viewedAt: now - DAY },
        { oid: 'glance', position: 1 },
      ])
      const expected = [`${today - 1}.1.1.play`, `${today - 1}.2.1.play`, `${today}.1.1.play`]
      expect(await rewarded(3)).toEqual(expected)
      expect((await play('1', 'e')).firstOfDay).toBe(false)
      expect(await play('2', 'b', undefined, now - DAY)).toMatchObject({
        firstOfDay: false,
        dayToken: dayTokenOf('2', utc(1), today - 1, 'FIRST_PLAY'),
      })
      expect(await play('2', 'c', undefined, now - 2 * DAY)).toMatchObject({ firstOfDay: false, dayToken: null })
      expect((await play('2', 'd')).firstOfDay).toBe(true)
      expect(await rewarded(4)).toEqual([...expected, `${today}.2.1.play`].toSorted())
      await job.stop()
    })

    test('without the hot store nothing is claimed and no token is returned', async () => {
      together.refuse('seenHot.putIssued', 'HOT_STORE_UNAVAILABLE')
      together.refuse('seenHot.stagePlays', 'HOT_STORE_UNAVAILABLE')
      const nothing = { dayToken: null, firstOfDay: false }
      expect(await issue('7', 'a')).toEqual({ recorded: false, ...nothing })
      expect(await play('7', 'a')).toEqual({ recordedCount: 1, visible: false, ...nothing })
      expect(await pending()).toEqual([])
    })
  })
}

describe('firsts of the day, through the graph and by configuration', () => {
  const [embedded] = BOTH_SHAPES

  async function askedOf(together: Together): Promise<unknown> {
    const degraded: Degraded = new Set()
    const loaders = together.existence.makeLoaders(degraded)
    const source = `mutation($token: String) {
      none: recordIssued(input: { business: "video", ids: [] }) { recorded dayToken firstOfDay }
      recordIssued(input: { business: "video", ids: ["1"] }) { recorded dayToken firstOfDay }
      again: recordIssued(input: { business: "video", ids: ["2"], dayToken: $token }) { dayToken firstOfDay }
      recordPlayed(input: { business: "video", ids: ["1"], dayToken: $token }) { recordedCount visible dayToken firstOfDay }
    }`
    const token = dayTokenOf('7', utc(1), utcDayOf(Date.now()), 'FIRST_ISSUE')
    const contextValue = { viewer: viewerOf('7'), degraded, loaders }
    const { data, errors } = await graphql({ schema: together.existence.schema, source, contextValue, variableValues: { token } })
    expect(errors).toBeUndefined()
    return JSON.parse(JSON.stringify(data))
  }

  test('mutations return whether it was the first, and accept the token', async () => {
    const together = await startTogether(embedded!.open)
    const [issued, played] = (['FIRST_ISSUE', 'FIRST_PLAY'] as const).map((kind) => dayTokenOf('7', utc(1), utcDayOf(Date.now()), kind))
    expect(await askedOf(together)).toEqual({
      none: { recorded: true, dayToken: null, firstOfDay: false },
      recordIssued: { recorded: true, dayToken: issued, firstOfDay: true },
      again: { dayToken: issued, firstOfDay: false },
      recordPlayed: { recordedCount: 1, visible: true, dayToken: played, firstOfDay: true },
    })
    await together.stop()
  })

  test('a kind without rewards is not checked', async () => {
    const together = await startTogether(embedded!.open, helpConfig({ rewards: { firstIssue: 'off' } }))
    expect(await askedOf(together)).toMatchObject({
      recordIssued: { recorded: true, dayToken: null, firstOfDay: false },
      recordPlayed: { firstOfDay: true },
    })
    await until('the play is rewarded', () => together.rewards().length === 1)
    await together.stop()
  })
})
