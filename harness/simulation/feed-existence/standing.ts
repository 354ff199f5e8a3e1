/** The right answer about a subject: seen, unseen, or either of them. */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark, isListing, listedBusiness } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { SeenFacts } from './facts.ts'
import type { SimulatedLegacyPlays } from './model-legacy.ts'
import { keyText } from './universe.ts'

/** The state at the beginning of a read. */
export type Reading = {
  tick: number
  at: number
  viewer: ViewerId
  business: BusinessNumber
  staged: ReadonlySet<string>
  /** True if the promises of the legacy store apply to this read. */
  isLegacyKnown: boolean
  life: object
}
/** The process that reads. */
export type SeenReader = { life: object; legacy: Pick<SimulatedLegacyPlays, 'mayThinkAbsent'> | undefined }
export type Standing = ReturnType<typeof makeStanding>

export function makeStanding(facts: SeenFacts) {
  const { rules, now, issues, landed, isLogged, isLiveFor, isDamaged } = facts

  /** A process without a legacy store must find the promised plays in the filters. */
  function isLegacyKnownTo({ legacy: port }: SeenReader, viewer: ViewerId, business: BusinessNumber): boolean {
    const { hot, records, legacy } = facts.stores()
    if (legacy?.isOf(viewer, business) !== true) return false
    if (port !== undefined) return !port.mayThinkAbsent(viewer, business)
    const isListed = hot.stagedOf(viewer).some((play) => isListing(play) && listedBusiness(play) === business)
    const isMarked = decodeMark(records.filters.get(`${MARK_MONTH}:${viewer}`)?.filter).has(business)
    return isMarked && !isListed && !isDamaged(viewer)
  }

  function stagedNow(viewer: ViewerId, business: BusinessNumber): Set<string> {
    const staged = facts.stores().hot.stagedOf(viewer)
    return new Set(staged.filter((play) => play.business === business).map(({ oid }) => oid))
  }

  /** Served before the read began, and not trimmed since. */
  function mustBeIssued({ tick, viewer, business }: Reading, oid: string): boolean {
    const own = issues.get(`${viewer} ${business}`)
    const issue = own?.get(oid)
    if (own === undefined || issue === undefined || issue.tick > tick) return false
    const rank = [...own.values()].filter((other) => other !== issue && other.issuedAt >= issue.issuedAt).length
    const age = now() - issue.issuedAt
    if (age >= rules.issuedTtlMs - 2 * rules.skewMaxMs) return false
    return rank < rules.issuedCap || (rank < rules.issuedHardCap && age < rules.issuedMinAgeMs - 2 * rules.skewMaxMs)
  }

  function stoodInLegacy(viewer: ViewerId, business: BusinessNumber, oid: string): boolean {
    return facts.stores().legacy?.stoodAnyhow(viewer, keyText(business, oid)) === true
  }

  /** The play waits in the process that acknowledged it and is not staged yet. */
  function mustWait({ tick, viewer, business, life }: Reading, oid: string, reader: number): boolean {
    const play = facts.acknowledgedBy(life, { viewer, business, oid })
    if (play === undefined || play.tick > tick || monthOf(play.playedAt) < monthOf(reader) - rules.monthsBefore) return false
    return !landed(viewer, business, oid).some((each) => each.tick > play.since)
  }

  /** `reader`: the clock of the reading process at the time of the answer. */
  function standing(reading: Reading, oid: string, reader: number): 'seen' | 'unseen' | 'either' {
    const { tick, at, viewer, business, staged } = reading
    const plays = landed(viewer, business, oid)
    const oldest = monthOf(reader) - rules.monthsBefore
    const isKnown = plays.some((play) => play.tick <= tick && monthOf(play.playedAt) >= oldest)
    const promised = reading.isLegacyKnown ? facts.stores().legacy?.promiseOf(viewer, business, oid) : undefined
    const isPromised = promised !== undefined && promised.tick <= tick && isLiveFor(promised.playedAt)
    if (isKnown || isPromised || mustBeIssued(reading, oid)) return 'seen'
    const oldestAtFirst = monthOf(at - rules.skewMaxMs) - rules.monthsBefore
    const mayBe =
      staged.has(oid) ||
      stoodInLegacy(viewer, business, oid) ||
      isLogged(viewer, business, oid, oldestAtFirst) ||
      issues.get(`${viewer} ${business}`)?.has(oid) === true ||
      plays.some((play) => play.tick > tick || monthOf(play.playedAt) >= oldestAtFirst)
    return mayBe ? 'either' : 'unseen'
  }

  return {
    begin: (viewer: ViewerId, business: BusinessNumber, reader: SeenReader): Reading => ({
      ...{ tick: facts.tick(), at: now(), viewer, business },
      staged: stagedNow(viewer, business),
      isLegacyKnown: isLegacyKnownTo(reader, viewer, business),
      life: reader.life,
    }),
    standing,
    mustWait,
    stoodInLegacy,
  }
}
