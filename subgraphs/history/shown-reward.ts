/** A reward event as its consumers see it, in the API and in the lines of `tidemark events`. */
import type { Businesses } from '../../config/businesses.ts'
import { dateOf } from '../../core/days.ts'
import { ALL_BUSINESSES, type RewardEvent, type RewardKind, type ViewerId } from '../../core/domain.ts'

export type ShownReward = { id: string; kind: RewardKind; viewer: ViewerId; business: string | null; date: string }

export function shownReward({ id, kind, viewer, business, day }: RewardEvent, businesses: Pick<Businesses, 'byNumber'>): ShownReward {
  const name = businesses.byNumber(business)?.name ?? String(business)
  return { id, kind, viewer, business: business === ALL_BUSINESSES ? null : name, date: dateOf(day) }
}
