/**
 * The follow-up of written reports: their plays are staged, and their keys and rewards are handed on. The service and the replay use it.
 *
 * Plays are staged before the acknowledgement, so that feeds hide a play from then on. If staging fails, the report is still acknowledged:
 * the persist step (`subgraphs/history/persist/persist.ts`) stages each play whose key does not say that it is staged.
 */
import type { FlushedKey, RewardEvent } from '../../../core/domain.ts'
import { claimedBusiness, rewardOf } from '../../../core/rewards.ts'
import type { StageWritten, WrittenReport } from '../../../core/written-reports.ts'
import type { ProgressWrite } from '../stores/hot-store.ts'
import type { WriteOutcome } from './writes.ts'

export type FollowUp = {
  /** Absent if feed existence takes no plays from history. */
  readonly stageWritten?: StageWritten | undefined
  /** Takes the key of a change that the hot store has, for the log. */
  aggregate(key: FlushedKey): void
  /** Takes claims for the log; the sweeper sends those that it cannot deliver. */
  reward(events: readonly RewardEvent[]): void
}

/** `outcomes`: in the order of `writes`. */
export async function followUp(
  writes: readonly ProgressWrite[],
  outcomes: readonly WriteOutcome[],
  { stageWritten, aggregate, reward }: FollowUp,
): Promise<void> {
  const written: WrittenReport[] = []
  const rewards: RewardEvent[] = []
  writes.forEach((write, place) => {
    const { viewer, business, oid, day } = write
    const outcome = outcomes[place]
    if (outcome?.status !== 'written') return
    written.push({ key: { viewer, business, oid }, record: outcome.record, before: outcome.before })
    if (outcome.firstOfDay && day !== undefined) rewards.push(rewardOf(viewer, claimedBusiness(write), day))
  })
  if (written.length === 0) return
  const days = (await stageWritten?.(written)) ?? []
  written.forEach(({ key }, place) => {
    const stagedOn = days[place]
    aggregate(stagedOn === undefined ? key : { ...key, stagedOn })
  })
  if (rewards.length > 0) reward(rewards)
}
