/** What a first view of the day earns. A leaf: service and hot stores make the same event of the same claim. */
import type { BusinessNumber, RewardEvent, ViewerId } from './domain.ts'

/** The id is the same however often the claim is sent, and whoever sends it. */
export function rewardOf(viewer: ViewerId, business: BusinessNumber, day: number): RewardEvent {
  return { id: `${day}.${viewer}.${business}`, viewer, business, day }
}
