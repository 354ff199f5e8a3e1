/** Rewards of days in configured time zones, through both subgraphs of a process, on both shapes. */
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../core/clock.ts'
import { dayTokenOf } from '../../../core/rewards.ts'
import { dayOf } from '../../../core/days.ts'
import type { RewardEvent } from '../../../core/domain.ts'
import { makeHistorySubgraph } from '../../../subgraphs/history/index.ts'
import { listRewards } from '../../../writeback/stores/lmdb/log.ts'
import { until } from '../../../harness/until.ts'
import { BOTH_SHAPES, helpConfig, startTogether, type Together } from '../feed-existence/with-history.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Before the day on which the clocks go back in Berlin, which has 25 hours. */
const BEFORE_MIDNIGHT = Date.parse('2026-10-24T21:45:00Z')
const TO_MIDNIGHT = 15 * MINUTE
const ZONE = 'Europe/Berlin'

for (const { name, open } of BOTH_SHAPES) {
  describe(`days in time zones, ${name}`, () => {
    let together: Together
    afterEach(() => together.stop())

    async function start(rewards: object, video: object = {}) {
      let ahead = BEFORE_MIDNIGHT - systemClock.now()
      const clock: Clock = { now: () => systemClock.now() + ahead, after: systemClock.after }
      together = await startTogether(
        open,
        helpConfig({ rewards: { timeZone: ZONE, ...rewards }, video, history: { sweepAfterMs: 24 * HOUR } }),
        clock,
      )
      const { hot, log, records } = together.stores
      const second = makeHistorySubgraph(clock, { hot, log, records }, together.config, () => undefined)
      const services = [together.history.service, second.service]
      const viewer = (id: string) => ({ id, scopes: [] })
      return {
        /** Once everything is persisted, with its plays, and all rewards are sent. */
        async pass(ms: number): Promise<void> {
          await until('all rewards are sent', async () => {
            const all = [hot, together.stores.seenHot].map((store) => store.listPendingRewards([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 1))
            return (await Promise.all(all)).flat().length === 0 && (await hot.countDirty()) === 0
          })
          ahead += ms
        },
        /** Both devices report at once, each to a process of its own. Returns the number of answers that are first of the day. */
        async reportTwice(id: string, business = 'video', dayToken?: string): Promise<number> {
          const answers = await Promise.all(
            services.map((service, at) =>
              service.report(viewer(id), [{ business, id: `${at}`, position: 60_000, dayToken: dayToken ?? null }], new Set()),
            ),
          )
          return answers.flat().filter((answer) => answer.outcome === 'ACCEPTED' && answer.firstOfDay).length
        },
        issueTwice: async (id: string, business = 'video') => {
          const issue = () => together.existence.service.recordIssued(viewer(id), business, ['1'], new Set())
          return (await Promise.all([issue(), issue()])).filter(({ firstOfDay }) => firstOfDay).length
        },
        tokenOf: async (id: string) => {
          const [answer] = await second.service.report(viewer(id), [{ business: 'video', id: '9', position: 60_000 }], new Set())
          return answer?.outcome === 'ACCEPTED' ? answer.dayToken : undefined
        },
        drain: () => second.drain(),
      }
    }
    const sent = (): RewardEvent[] => listRewards(together.stores.environment, 0, 1_000).map(({ reward }) => reward)
    const idsOf = (kind: RewardEvent['kind']) =>
      sent()
        .filter((each) => each.kind === kind)
        .map(({ id }) => id)
        .toSorted()

    test('a viewer earns each day of the zone once, whatever the device, and midnight is that of the zone', async () => {
      const { pass, reportTwice, issueTwice, drain } = await start({})
      const day = dayOf(ZONE, BEFORE_MIDNIGHT)
      for (const viewer of ['7', 'ann']) {
        expect([await reportTwice(viewer), await reportTwice(viewer), await reportTwice(viewer, 'article')]).toEqual([1, 0, 1])
        expect([await issueTwice(viewer), await issueTwice(viewer)]).toEqual([1, 0])
      }
      await pass(TO_MIDNIGHT)
      expect([await reportTwice('7'), await issueTwice('7')]).toEqual([1, 1])
      // 24 hours later it is 23:00 of the same day.
      await pass(24 * HOUR)
      expect([await reportTwice('7'), await issueTwice('7')]).toEqual([0, 0])
      await pass(HOUR)
      expect([await reportTwice('7'), await issueTwice('7')]).toEqual([1, 1])
      const views = ['7.1', '7.2', 'ann.1', 'ann.2'].map((of) => `${day}.${of}`)
      const expected = [...views, `${day + 1}.7.1`, `${day + 2}.7.1`].toSorted()
      await until('all views are sent', () => idsOf('FIRST_VIEW').length >= expected.length)
      await drain()
      expect(idsOf('FIRST_VIEW')).toEqual(expected)
      await until('all issues are sent', () => idsOf('FIRST_ISSUE').length >= 4)
      expect(idsOf('FIRST_ISSUE')).toEqual([`${day}.7.1`, `${day}.ann.1`, `${day + 1}.7.1`, `${day + 2}.7.1`].map((id) => `${id}.issue`))
      // The reports are plays too. Each day and business has one, at once or through the persist step.
      const plays = [...views, `${day + 1}.7.1`, `${day + 2}.7.1`].map((id) => `${id}.play`).toSorted()
      await until('all plays are sent', () => new Set(idsOf('FIRST_PLAY')).size >= plays.length)
      expect(idsOf('FIRST_PLAY')).toEqual(plays)
    })

    test('with rewards per viewer, a day is earned once in all businesses, by the common zone', async () => {
      const rewards = { firstView: 'viewer', firstPlay: 'viewer', firstIssue: 'viewer' }
      const { pass, reportTwice, issueTwice, drain } = await start(rewards, { timeZone: 'Asia/Tokyo' })
      const day = dayOf(ZONE, BEFORE_MIDNIGHT)
      const both = () => Promise.all([reportTwice('7'), reportTwice('7', 'article'), issueTwice('7'), issueTwice('7', 'article')])
      const [video, article, issue, issueOfArticle] = await both()
      expect([video + article, issue + issueOfArticle]).toEqual([1, 1])
      expect(await both()).toEqual([0, 0, 0, 0])
      await pass(TO_MIDNIGHT)
      const [again, andAgain] = await both()
      expect(again + andAgain).toBe(1)
      await until('all are sent', () => new Set(sent().map(({ id }) => id)).size >= 6)
      await drain()
      expect(idsOf('FIRST_VIEW')).toEqual([`${day}.7.0`, `${day + 1}.7.0`])
      expect(idsOf('FIRST_PLAY')).toEqual([`${day}.7.0.play`, `${day + 1}.7.0.play`])
      expect(idsOf('FIRST_ISSUE')).toEqual([`${day}.7.0.issue`, `${day + 1}.7.0.issue`])
    })

    test('a business has its own zone, and kinds that are off earn nothing', async () => {
      const { reportTwice, issueTwice, drain } = await start({ firstPlay: 'off', firstIssue: 'off' }, { timeZone: 'Asia/Tokyo' })
      const [tokyo, berlin] = ['Asia/Tokyo', ZONE].map((zone) => dayOf(zone, BEFORE_MIDNIGHT))
      expect(tokyo).toBe((berlin ?? 0) + 1)
      expect([await reportTwice('7'), await reportTwice('7', 'article'), await issueTwice('7')]).toEqual([1, 1, 0])
      await until('both are sent', () => sent().length >= 2)
      await drain()
      expect(
        sent()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual([`${berlin}.7.2`, `${tokyo}.7.1`])
    })

    test('a token of yesterday, of another zone or of another business does not skip the check', async () => {
      const { pass, reportTwice, tokenOf, drain } = await start({})
      const yesterdays = await tokenOf('9')
      const today = dayOf(ZONE, BEFORE_MIDNIGHT)
      expect(yesterdays).toBe(dayTokenOf('9', { timeZone: ZONE, business: 1 }, today))
      await pass(TO_MIDNIGHT)
      const others = [
        ['9', yesterdays],
        ['10', dayTokenOf('10', { timeZone: 'Europe/Paris', business: 1 }, today + 1)],
        ['11', dayTokenOf('11', { timeZone: 'UTC', business: 1 }, today + 1)],
        ['12', dayTokenOf('12', { timeZone: ZONE, business: 2 }, today + 1)],
        ['13', dayTokenOf('13', { timeZone: ZONE, business: 0 }, today + 1)],
      ] as const
      for (const [viewer, token] of others) expect([viewer, await reportTwice(viewer, 'video', token)]).toEqual([viewer, 1])
      const todays = dayTokenOf('14', { timeZone: ZONE, business: 1 }, today + 1)
      expect([await reportTwice('14', 'video', todays), await reportTwice('14')]).toEqual([0, 1])
      await drain()
    })
  })
}
