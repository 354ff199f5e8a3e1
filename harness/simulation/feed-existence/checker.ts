/**
 * What must always hold of what was seen. A play counts as recorded from the instant it reaches staging, whoever sent it and
 * whether he ever got his answer: from then on nobody who begins to read is shown it again, as long as its month is live. Ids are
 * those of `universe.ts`, where filters err never: so what nobody recorded must not be hidden either. The process
 * that acknowledged a play with the hot store away hides it even before it reaches staging, whatever else its answers lack.
 */
import type { Play, Subject, ViewerId } from '../../../core/domain.ts'
import { Violation } from '../violation.ts'
import { makeAnswerRules } from './answer-rules.ts'
import { makeSeenFacts, type Fail, type SeenRules } from './facts.ts'
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
