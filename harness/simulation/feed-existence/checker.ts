/**
 * What must always hold of what was seen. A play counts as recorded from the instant it reaches staging, whoever sent it and
 * whether he ever got his answer: from then on nobody who begins to read is shown it again, as long as its month is live. Ids are
 * those of `universe.ts`, where filters err never: so what nobody recorded must not be hidden either. The process
 * that acknowledged a play with the hot store away hides it even before it reaches staging, whatever else its answers lack.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Month, Play, Subject, ViewerId } from '../../../core/domain.ts'
import { MARK_MONTH, decodeMark, isListing, listedBusiness } from '../../../subgraphs/feed-existence/migration/progress.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { SeenReason } from '../../../loaders/feed-existence.ts'
import type { FilterKey, FilterWrite } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import type { Unseen } from '../../../subgraphs/feed-existence/read/unseen.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import { Violation } from '../violation.ts'
import type { SeenHotObserver, SeenHotState } from './model-hot.ts'
import { nameOf, type LegacyState, type SimulatedLegacyPlays } from './model-legacy.ts'
import { isInFilter, type SeenRecordsObserver } from './model-records.ts'
import { keyText } from './universe.ts'

export type SeenRules = {
  monthsBefore: number
  issuedCap: number
  issuedMinAgeMs: number
  issuedTtlMs: number
  issuedHardCap: number
  utcOffsetMinutes: number
  futureMaxMs: number
  /** How far clocks of servers are from the world's at most. */
  skewMaxMs: number
}

type Landing = { tick: number; at: number; playedAt: number }
type Issue = { tick: number; issuedAt: number }
/** What was known when somebody began to read. */
export type Reading = {
  tick: number
  at: number
  viewer: ViewerId
  business: BusinessNumber
  staged: ReadonlySet<string>
  /** Must what the legacy store promises be left out? */
  isLegacyKnown: boolean
  life: object
}
/** Who reads. */
export type SeenReader = { life: object; legacy: Pick<SimulatedLegacyPlays, 'mayThinkAbsent'> | undefined }
type Stored = { hot: SeenHotState; records: SeenRecordsState; legacy?: LegacyState | undefined }

export type SeenChecker = ReturnType<typeof makeSeenChecker>

export function makeSeenChecker(rules: SeenRules, now: () => number) {
  /** By viewer, then by business and oid. */
  const landings = new Map<string, Landing[]>()
  /** Times of plays that the log has, or had, by viewer, business and oid. */
  const logged = new Map<string, number[]>()
  /** By process, then by viewer, business and oid: what it said is in the log. */
  const acknowledged = new WeakMap<object, Map<string, { since: number; tick: number; playedAt: number }>>()
  /** By viewer and business, then by oid. */
  const issues = new Map<string, Map<string, Issue>>()
  /** By viewer and month: what must be in that filter after quiet. */
  const folded = new Map<string, Set<string>>()
  const writes = new Map<string, number>()
  /** By viewer and business: who was marked as migrated once. */
  const moved = new Set<string>()
  /** Plays that have left staging by a process that says that the legacy store has them. */
  const back: Play[] = []
  /** Filters that were damaged once: what is made anew has everything since the beginning of its month. */
  const damaged = new Set<string>()
  let stores: Stored | undefined
  let ticks = 0
  let failure: Violation | undefined

  function fail(message: string, viewer: ViewerId | undefined): void {
    failure ??= new Violation(message, viewer)
  }

  const hotObserver: SeenHotObserver = {
    staged(plays) {
      ticks++
      for (const { viewer, business, oid, playedAt } of plays) {
        const key = `${viewer} ${keyText(business, oid)}`
        const known = landings.get(key) ?? []
        known.push({ tick: ticks, at: now(), playedAt })
        landings.set(key, known)
      }
    },
    removed(viewer, plays, by) {
      ticks++
      const { records, legacy } = stores as Stored
      const isBack = legacy !== undefined && plays.length > 0 ? by.hasWrittenBack() : undefined
      for (const { business, oid, playedAt } of plays) {
        const month = monthOf(playedAt)
        const key = `${month}:${viewer}`
        const own = folded.get(key) ?? new Set<string>()
        own.add(keyText(business, oid))
        folded.set(key, own)
        const isThere = isInFilter(records, viewer, month, business, oid)
        // A filter may have come to its end: nobody asks for it any more.
        if (!isThere && month > monthOf(now()) - 5)
          fail(`removal: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, and is in no filter`, viewer)
        if (isBack === undefined || legacy?.isOf(viewer, business) !== true) continue
        if (isBack) back.push({ viewer, business, oid, playedAt })
        if (isBack ? !legacy.hasPlay({ viewer, business, oid, playedAt }) : !legacy.wasDown)
          fail(`way back: ${keyText(business, oid)} of ${textOf(playedAt)} has left staging, and the legacy store does not have it`, viewer)
      }
    },
    issued(viewer, business, oids, issuedAt) {
      ticks++
      const own = issues.get(`${viewer} ${business}`) ?? new Map<string, Issue>()
      for (const oid of oids) {
        const known = own.get(oid)
        if (known === undefined || known.issuedAt <= issuedAt) own.set(oid, { tick: ticks, issuedAt })
      }
      issues.set(`${viewer} ${business}`, own)
    },
  }

  const recordsObserver: SeenRecordsObserver = {
    written({ viewer, month, filter }: FilterWrite) {
      ticks++
      if (month === MARK_MONTH) for (const business of decodeMark(filter).keys()) checkMarked(viewer, business)
      writes.set(`${month}:${viewer}`, (writes.get(`${month}:${viewer}`) ?? 0) + 1)
    },
    purged(keys: readonly FilterKey[]) {
      const newest = monthOf(now() + rules.skewMaxMs + rules.utcOffsetMinutes * 60_000) - 6
      for (const { viewer, month } of keys)
        if (month > newest) fail(`expiry: the filter of ${nameOfMonth(month)} was purged before its sixth month after`, viewer)
    },
  }

  /** Whoever is marked now has in his filters what was promised of him. */
  function checkMarked(viewer: ViewerId, business: BusinessNumber): void {
    const { records, legacy } = stores as Stored
    moved.add(nameOf(viewer, business))
    for (const [oid, { playedAt }] of legacy?.promisesOf(viewer, business) ?? []) {
      if (!isLiveFor(playedAt)) continue
      const newest = monthOf(now() + rules.skewMaxMs + rules.futureMaxMs)
      const months = Array.from({ length: newest - monthOf(playedAt) + 1 }, (_, at) => monthOf(playedAt) + at)
      if (!months.some((month) => isInFilter(records, viewer, month, business, oid)))
        fail(`migrated: ${keyText(business, oid)} of ${textOf(playedAt)} is in no filter, and its viewer is marked as migrated`, viewer)
    }
  }

  /** Of a month that is live whatever a server's clock says. */
  function isLiveFor(playedAt: number): boolean {
    return monthOf(playedAt) >= monthOf(now() + rules.skewMaxMs) - rules.monthsBefore
  }

  /** A process that knows nothing of the legacy store has to have it from the filters. */
  function isLegacyKnownTo({ legacy: port }: SeenReader, viewer: ViewerId, business: BusinessNumber): boolean {
    const { hot, records, legacy } = stores as Stored
    if (legacy?.isOf(viewer, business) !== true) return false
    if (port !== undefined) return !port.mayThinkAbsent(viewer, business)
    const isListed = hot.stagedOf(viewer).some((play) => isListing(play) && listedBusiness(play) === business)
    const isMarked = decodeMark(records.filters.get(`${MARK_MONTH}:${viewer}`)?.filter).has(business)
    return isMarked && !isListed && !isDamaged(viewer)
  }

  function isDamaged(viewer: ViewerId): boolean {
    return [...damaged].some((key) => key.slice(key.indexOf(':') + 1) === viewer)
  }

  /** In which month history has it. */
  function newestMonthOf(viewer: ViewerId, key: string): Month {
    return monthOf(Math.max(...(landings.get(`${viewer} ${key}`) ?? []).map(({ playedAt }) => playedAt)))
  }

  function stagedNow(viewer: ViewerId, business: BusinessNumber): Set<string> {
    const staged = (stores as Stored).hot.stagedOf(viewer)
    return new Set(staged.filter((play) => play.business === business).map(({ oid }) => oid))
  }

  function landed(viewer: ViewerId, business: BusinessNumber, oid: string): readonly Landing[] {
    return landings.get(`${viewer} ${keyText(business, oid)}`) ?? []
  }

  /** Served before the read began, and not pushed out by anything since. */
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
    return stores?.legacy?.stoodAnyhow(viewer, keyText(business, oid)) === true
  }

  /** It waits in the process that acknowledged it: nobody has staged it yet. */
  function mustWait({ tick, viewer, business, life }: Reading, oid: string, reader: number): boolean {
    const play = acknowledged.get(life)?.get(`${viewer} ${keyText(business, oid)}`)
    if (play === undefined || play.tick > tick || monthOf(play.playedAt) < monthOf(reader) - rules.monthsBefore) return false
    return !landed(viewer, business, oid).some((each) => each.tick > play.since)
  }

  function isLogged(viewer: ViewerId, business: BusinessNumber, oid: string, oldest = 0): boolean {
    return logged.get(`${viewer} ${keyText(business, oid)}`)?.some((playedAt) => monthOf(playedAt) >= oldest) === true
  }

  type Standing = 'seen' | 'unseen' | 'either'

  /** `reader`: his clock when he was answered. */
  function standing(reading: Reading, oid: string, reader: number): Standing {
    const { tick, at, viewer, business, staged } = reading
    const plays = landed(viewer, business, oid)
    const oldest = monthOf(reader) - rules.monthsBefore
    const isKnown = plays.some((play) => play.tick <= tick && monthOf(play.playedAt) >= oldest)
    const promised = reading.isLegacyKnown ? stores?.legacy?.promiseOf(viewer, business, oid) : undefined
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
    hotObserver,
    recordsObserver,
    watch: (watched: Stored) => void (stores = watched),
    fail,
    failure: () => failure,
    tick: () => ticks,
    nextTick: () => ++ticks,
    writes,
    folded,
    damaged,
    moved,
    back,
    isLiveFor,
    isDamaged: (viewer: ViewerId) => isDamaged(viewer),
    newestMonthOf,
    landings,
    /** The log took it, from whomever. */
    logged({ viewer, business, oid, playedAt }: Play): void {
      const key = `${viewer} ${keyText(business, oid)}`
      logged.set(key, [...(logged.get(key) ?? []), playedAt])
    },
    /** This process said that the log took it. `since`: when it was asked to. */
    acknowledged(life: object, { viewer, business, oid, playedAt }: Play, since: number): void {
      const own = acknowledged.get(life) ?? new Map<string, { since: number; tick: number; playedAt: number }>()
      acknowledged.set(life, own.set(`${viewer} ${keyText(business, oid)}`, { since, tick: ++ticks, playedAt }))
    },
    landedSince: (play: Play, tick: number) =>
      landed(play.viewer, play.business, play.oid).some((each) => each.tick > tick && each.playedAt === play.playedAt),
    hasLanded: (play: Play) => landed(play.viewer, play.business, play.oid).some(({ playedAt }) => playedAt === play.playedAt),
    hasLandedAnyhow: ({ viewer, business, oid }: Subject & { viewer: ViewerId }, tick: number) =>
      landed(viewer, business, oid).some((each) => each.tick > tick),
    begin: (viewer: ViewerId, business: BusinessNumber, reader: SeenReader): Reading => ({
      ...{ tick: ticks, at: now(), viewer, business },
      staged: stagedNow(viewer, business),
      isLegacyKnown: isLegacyKnownTo(reader, viewer, business),
      life: reader.life,
    }),

    checkUnseen(
      reading: Reading,
      candidates: readonly string[],
      exclude: readonly string[],
      answer: Unseen,
      degraded: Degraded,
      reader: number,
    ): void {
      const { viewer, business } = reading
      const what = `unseen of business ${business}`
      const asked = [...new Set(candidates)].filter((id) => !exclude.includes(id))
      const shown = new Set(answer.ids)
      const inOrder = asked.filter((id) => shown.has(id))
      if (inOrder.join() !== answer.ids.join()) fail(`order: ${what} answers ${answer.ids.join()} of ${asked.join()}`, viewer)
      const dropped = answer.droppedIssued + answer.droppedStaged + answer.droppedFiltered
      if (dropped !== asked.length - answer.ids.length) fail(`dropped: ${what} counts ${dropped} of ${asked.length - shown.size}`, viewer)
      for (const oid of asked)
        if (shown.has(oid) && mustWait(reading, oid, reader)) fail(`waits: ${what} shows ${oid}, which its process logged`, viewer)
      if (isLess(viewer, business, degraded)) return
      for (const oid of asked) {
        const is = standing(reading, oid, reader)
        if (is === 'seen' && shown.has(oid)) fail(`comes back: ${what} shows ${oid}, ${knownOf(viewer, business, oid)}`, viewer)
        if (is === 'unseen' && !shown.has(oid)) fail(`hidden: ${what} hides ${oid}, ${knownOf(viewer, business, oid)}`, viewer)
      }
    },

    checkReasons(
      reading: Reading,
      oids: readonly string[],
      reasons: readonly (SeenReason | null)[],
      degraded: Degraded,
      reader: number,
    ): void {
      const { viewer, business } = reading
      oids.forEach((oid, place) => {
        const reason = reasons[place]
        const is = standing(reading, oid, reader)
        const known = (): string => `seen says ${reason} of ${keyText(business, oid)}, ${knownOf(viewer, business, oid)}`
        const mayBePlayed =
          landed(viewer, business, oid).length > 0 || isLogged(viewer, business, oid) || stoodInLegacy(viewer, business, oid)
        if (reason === 'PLAYED' && !mayBePlayed) fail(`reason: ${known()}`, viewer)
        if (reason === null && mustWait(reading, oid, reader)) fail(`waits: ${known()}, and its process logged it`, viewer)
        if (reason === 'ISSUED' && issues.get(`${viewer} ${business}`)?.has(oid) !== true) fail(`reason: ${known()}`, viewer)
        if (isLess(viewer, business, degraded)) return
        if (is === 'seen' && reason === null) fail(`comes back: ${known()}`, viewer)
        if (is === 'unseen' && reason !== null) fail(`hidden: ${known()}`, viewer)
      })
    },
  }

  /** May an answer without these stores lack something? Where no sorted set stands nothing was promised. */
  function isLess(viewer: ViewerId, business: BusinessNumber, degraded: Degraded): boolean {
    const isOther = stores?.legacy?.kindOf(viewer, business) === 'other'
    return [...degraded].some((store) => store !== 'legacyStore' || !isOther)
  }

  function knownOf(viewer: ViewerId, business: BusinessNumber, oid: string): string {
    const plays = landed(viewer, business, oid).map(({ at, playedAt }) => `of ${textOf(playedAt)} staged at ${textOf(at)}`)
    const issue = issues.get(`${viewer} ${business}`)?.get(oid)
    const promised = stores?.legacy?.promiseOf(viewer, business, oid)
    if (promised !== undefined) plays.push(`of ${textOf(promised.playedAt)} in the legacy store`)
    return `${plays.join(', ') || 'never played'}; ${issue === undefined ? 'never issued' : `issued at ${textOf(issue.issuedAt)}`}`
  }
}

export function nameOfMonth(month: Month): string {
  return `${1970 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`
}

export function textOf(time: number): string {
  return new Date(time).toISOString()
}
