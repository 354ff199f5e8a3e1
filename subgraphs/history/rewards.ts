/** What a first view of the day earns. */
import type { BusinessNumber, RewardEvent, ViewerId } from '../../core/domain.ts'

/** The id is the same however often the claim is sent, and whoever sends it: hot stores name pending rewards so too. */
export function rewardOf(viewer: ViewerId, business: BusinessNumber, day: number): RewardEvent {
  return { id: `${day}.${viewer}.${business}`, viewer, business, day }
}
