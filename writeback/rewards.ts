/** Port: rewards that were claimed in a hot store and wait for the log. */
import type { RewardEvent } from '../core/domain.ts'

export interface PendingRewards {
  /** Rewards of these regions, claimed at or before this moment, at most `limit`. */
  listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]>
  /** Removes rewards that the log has taken; a repetition is harmless. */
  confirmRewards(rewards: readonly RewardEvent[]): Promise<void>
}
