/** The reward of the first event of a day. */
import type { BusinessNumber, RewardEvent, RewardKind, ViewerId } from './domain.ts'

/** The place of a kind is its number in stores and logs. */
export const REWARD_KINDS = ['FIRST_VIEW', 'FIRST_PLAY', 'FIRST_ISSUE'] as const satisfies readonly RewardKind[]

/** Views have no kind: their ids are older than kinds. A business's number never equals a kind. */
const ENDINGS = { FIRST_VIEW: '', FIRST_PLAY: '.play', FIRST_ISSUE: '.issue' } as const satisfies Record<RewardKind, string>

/** The id is the same for every repetition of the claim, from any sender. */
export function rewardOf(viewer: ViewerId, business: BusinessNumber, day: number, kind: RewardKind = 'FIRST_VIEW'): RewardEvent {
  return { id: `${day}.${viewer}.${business}${ENDINGS[kind]}`, viewer, business, day, kind }
}
