/**
 * The day token spares the check for the first view of the day: a client that sends it back has been checked. It only
 * ever opts out of a reward, so it needs no secret; it names viewer and business, so that two accounts on one device do
 * not spare each other's check.
 */
import type { BusinessNumber, ViewerId } from './domain.ts'
import { fnv1a } from './regions.ts'

const DAY_MS = 86_400_000

/** Days since the epoch, UTC. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS)
}

export function dayTokenOf(viewer: ViewerId, business: BusinessNumber, day: number): string {
  return `${day.toString(36)}.${fnv1a(`${business}:${viewer}`).toString(36)}`
}
