/**
 * Rewards for the first play and the first issue of a day, per viewer, in a business or in all. The step that records the play also claims the day
 * (`subgraphs/feed-existence/stores/hot-store.ts`), so that it is claimed once, and leaves a pending reward. Rewards are then sent to the
 * log, behind the answer. The job sweeps rewards that do not arrive. Each reward therefore arrives at least once, under its own id.
 *
 * An issue claims the day on which it is recorded. A play claims the day on which it was played, if that is today or yesterday. The days are
 * those of the time zone of the reward.
 */
import { claimedDay, dayOf } from '../../../core/days.ts'
import type { BusinessNumber, Play, RewardEvent, RewardKind, ViewerId } from '../../../core/domain.ts'
import { dayTokenOf, claimOf, rewardOf, type DayClaim, type RewardRules } from '../../../core/rewards.ts'
import type { Log } from '../../../writeback/log.ts'
import type { PlayWrite, SeenStore } from '../stores/hot-store.ts'

export type RewardLog = Pick<Log, 'appendRewards'>

export type DayRewards = {
  /** `given`: the token of an earlier answer. A caller that sends the token of the day claims nothing again. */
  checkIssue(subject: Rewarded, now: number, given: string | undefined): DayCheck
  checkPlay(subject: Rewarded, playedAt: number, now: number, given: string | undefined): DayCheck
  /** Plays without tokens: those from the log and from history. */
  withDays(plays: readonly Play[], now: number): PlayWrite[]
  send(events: readonly RewardEvent[]): void
  figures(): { rewards: number }
  /** Waits for sends under way. */
  settled(): Promise<void>
}

export type Rewarded = { viewer: ViewerId; business: BusinessNumber }

/** `token` and `reward` are of the day; both are empty if nothing is rewarded. `reward`: the event, if the claim is the first. */
export type DayCheck = { claim: DayClaim; token: string | null; reward: RewardEvent | undefined }

const NOTHING: DayCheck = { claim: {}, token: null, reward: undefined }

/** Without a log, no day is claimed. */
export function makeDayRewards(
  hot: Pick<SeenStore, 'confirmRewards'>,
  log: RewardLog | undefined,
  rules: RewardRules,
  onError: (error: unknown) => void,
): DayRewards {
  const ruleOf: RewardRules = log === undefined ? () => undefined : rules
  const underWay = new Set<Promise<void>>()
  let rewards = 0

  async function append(events: readonly RewardEvent[]): Promise<void> {
    await log?.appendRewards(events)
    rewards += events.length
    await hot.confirmRewards(events)
  }

  function check(
    kind: RewardKind,
    { viewer, business }: Rewarded,
    dayIn: (timeZone: string) => number | undefined,
    given: string | undefined,
  ): DayCheck {
    const rule = ruleOf(kind, business)
    const day = rule && dayIn(rule.timeZone)
    if (rule === undefined || day === undefined) return NOTHING
    const token = dayTokenOf(viewer, rule, day, kind)
    return { claim: given === token ? {} : claimOf(rule, day), token, reward: rewardOf(viewer, rule.business, day, kind) }
  }

  return {
    checkIssue: (subject, now, given) => check('FIRST_ISSUE', subject, (timeZone) => dayOf(timeZone, now), given),
    checkPlay: (subject, playedAt, now, given) => check('FIRST_PLAY', subject, (timeZone) => claimedDay(timeZone, playedAt, now), given),
    withDays: (plays, now) =>
      plays.map(({ viewer, business, oid, playedAt }) => {
        const rule = ruleOf('FIRST_PLAY', business)
        const day = rule && claimedDay(rule.timeZone, playedAt, now)
        return { viewer, business, oid, playedAt, ...(rule !== undefined && day !== undefined && claimOf(rule, day)) }
      }),
    send(events) {
      if (events.length === 0) return
      const work = append(events)
        .catch(onError)
        .finally(() => underWay.delete(work))
      underWay.add(work)
    },
    figures: () => ({ rewards }),
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
