/**
 * Rewards for the first play and the first issue of a day, per viewer and business. The step that records the play also claims the day
 * (`subgraphs/feed-existence/stores/hot-store.ts`), so that it is claimed once, and leaves a pending reward. Rewards are then sent to the
 * log, behind the answer. The job sweeps rewards that do not arrive. Each reward therefore arrives at least once, under its own id.
 *
 * An issue claims the day on which it is recorded. A play claims the day on which it was played, if that is today or yesterday.
 */
import { claimedDay, dayTokenOf } from '../../../core/day-token.ts'
import type { BusinessNumber, Play, RewardEvent, RewardKind, ViewerId } from '../../../core/domain.ts'
import type { Log } from '../../../writeback/log.ts'
import type { PlayWrite, SeenStore } from '../stores/hot-store.ts'

export type RewardLog = Pick<Log, 'appendRewards'>

export type DayRewards = {
  /**
   * The day to claim, and the token of the day. Both are empty if nothing is rewarded. A caller that sends the token back claims nothing
   * again.
   */
  check(
    kind: RewardKind,
    subject: { viewer: ViewerId; business: BusinessNumber },
    day: number | undefined,
    given: string | undefined,
  ): { claim: number | undefined; token: string | null }
  /** Plays without tokens: those from the log and from history. */
  withDays(plays: readonly Play[], now: number): PlayWrite[]
  send(events: readonly RewardEvent[]): void
  figures(): { rewards: number }
  /** Waits for sends under way. */
  settled(): Promise<void>
}

/** Without a log, no day is claimed. */
export function makeDayRewards(
  hot: Pick<SeenStore, 'confirmRewards'>,
  log: RewardLog | undefined,
  kinds: readonly RewardKind[],
  onError: (error: unknown) => void,
): DayRewards {
  const paid = new Set(log === undefined ? [] : kinds)
  const underWay = new Set<Promise<void>>()
  let rewards = 0

  async function append(events: readonly RewardEvent[]): Promise<void> {
    await log?.appendRewards(events)
    rewards += events.length
    await hot.confirmRewards(events)
  }

  return {
    check(kind, { viewer, business }, day, given) {
      if (day === undefined || !paid.has(kind)) return { claim: undefined, token: null }
      const token = dayTokenOf(viewer, business, day, kind)
      return { claim: given === token ? undefined : day, token }
    },
    withDays(plays, now) {
      if (!paid.has('FIRST_PLAY')) return [...plays]
      return plays.map(({ viewer, business, oid, playedAt }) => ({ viewer, business, oid, playedAt, day: claimedDay(playedAt, now) }))
    },
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
