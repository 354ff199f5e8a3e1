/**
 * The day token saves the check for the first view, play or issue of the day: a client that sends it back has been checked. It can only opt
 * out of a reward, so it needs no secret. It names viewer, business, kind and time zone. Two accounts on one device therefore do not skip
 * each other's check, and a token from before a change of the time zone is not taken for one of today.
 */
import type { RewardKind, ViewerId } from './domain.ts'
import { fnv1a } from './regions.ts'
import type { RewardRule } from './rewards.ts'

export function dayTokenOf(viewer: ViewerId, { timeZone, business }: RewardRule, day: number, kind: RewardKind = 'FIRST_VIEW'): string {
  return `${day.toString(36)}.${fnv1a(`${kind}:${timeZone}:${business}:${viewer}`).toString(36)}`
}
