/**
 * The invariants of feed existence. A play counts as recorded from the instant it reaches staging, for any sender and with or without an
 * answer. A read that begins later never shows it again while its month is live. All ids come from `universe.ts`, for which filters have no
 * false positives, so a subject without a record must not be hidden. A process that acknowledged a play while the hot store was down hides
 * it even before it reaches staging, also in degraded answers.
 */
import type { Play, Subject, ViewerId } from '../../../core/domain.ts'
import { Violation, type Fail } from '../violation.ts'
import { makeAnswerRules } from './answer-rules.ts'
import { makeSeenFacts, type SeenRules } from './facts.ts'
import { makeStanding } from './standing.ts'
import { makeStoreRules } from './store-rules.ts'

export type SeenChecker = ReturnType<typeof makeSeenChecker>

export function makeSeenChecker(rules: SeenRules, now: () => number) {
  let failure: Violation | undefined
  const fail: Fail = (message, viewer) => {
    failure ??= new Violation(message, viewer)
  }
  const facts = makeSeenFacts(rules, now)
  const { landings, landed, damaged, watch, tick, nextTick, isLiveFor, isDamaged, newestMonthOf, logged, acknowledged } = facts
  const standing = makeStanding(facts)
  return {
    ...makeStoreRules(facts, fail),
    ...{ fail, failure: () => failure },
    ...{ landings, damaged, watch, tick, nextTick, isLiveFor, isDamaged, newestMonthOf, logged, acknowledged },
    landedSince: (play: Play, tick: number) =>
      landed(play.viewer, play.business, play.oid).some((each) => each.tick > tick && each.playedAt === play.playedAt),
    hasLanded: (play: Play) => landed(play.viewer, play.business, play.oid).some(({ playedAt }) => playedAt === play.playedAt),
    hasLandedAnyhow: ({ viewer, business, oid }: Subject & { viewer: ViewerId }, tick: number) =>
      landed(viewer, business, oid).some((each) => each.tick > tick),
    begin: standing.begin,
    ...makeAnswerRules(facts, standing, fail),
  }
}
