/**
 * What the first play and the first issue of a day earn, of a viewer in a business. The claim is part of the step that records
 * (`subgraphs/feed-existence/stores/hot-store.ts`), so that it is made once, and leaves a reward that waits; here it is sent to the log, behind the
 * answer, and what does not arrive is swept by the job. So each comes at least once, under an id of its own.
 *
 * An issue claims the day on which it is recorded; a play the day on which it was played, if that is today or yesterday.
 */
import { claimedDay, dayTokenOf } from '../../../core/day-token.ts'
import type { BusinessNumber, Play, RewardEvent, RewardKind, ViewerId } from '../../../core/domain.ts'
import type { Log } from '../../../writeback/log.ts'
import type { PlayWrite, SeenStore } from '../stores/hot-store.ts'

export type RewardLog = Pick<Log, 'appendRewards'>

export type DayRewards = {
  /** What to claim, and the token of the day. Neither where nothing is earned; who sends that token back claims nothing again. */
  check(
    kind: RewardKind,
    subject: { viewer: ViewerId; business: BusinessNumber },
    day: number | undefined,
    given: string | undefined,
  ): { claim: number | undefined; token: string | null }
  /** Plays that nobody has a token for: those of the log, and of history. */
  withDays(plays: readonly Play[], now: number): PlayWrite[]
  send(events: readonly RewardEvent[]): void
  figures(): { rewards: number }
  /** Waits for what is being sent. */
  settled(): Promise<void>
}

/** Without a log nothing is claimed. */
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
