/**
 * The day token saves the check for the first view, play or issue of the day: a client that sends it back has been checked. It can only opt
 * out of a reward, so it needs no secret. It names viewer, business and kind, so that two accounts on one device do not skip each other's
 * check.
 */
import type { BusinessNumber, RewardKind, ViewerId } from './domain.ts'
import { fnv1a } from './regions.ts'

const DAY_MS = 86_400_000

/** Days since the epoch, UTC. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS)
}

/** The day that a play of this moment claims: today or yesterday; undefined for earlier plays, which have no reward. */
export function claimedDay(playedAt: number, now: number): number | undefined {
  const today = dayOf(now)
  const day = Math.min(dayOf(playedAt), today)
  return day >= today - 1 ? day : undefined
}

export function dayTokenOf(viewer: ViewerId, business: BusinessNumber, day: number, kind: RewardKind = 'FIRST_VIEW'): string {
  const subject = kind === 'FIRST_VIEW' ? `${business}:${viewer}` : `${kind}:${business}:${viewer}`
  return `${day.toString(36)}.${fnv1a(subject).toString(36)}`
}
