/** The checker's record of plays and issues: everything that reached staging, the log or the legacy store, with its time. */
import type { BusinessNumber, Month, Play, ViewerId } from '../../../core/domain.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { SeenRecordsState } from '../../models/feed-existence/record-store-model.ts'
import type { SeenHotState } from './model-hot.ts'
import type { LegacyState } from './model-legacy.ts'
import { keyText } from './universe.ts'

export type SeenRules = {
  monthsBefore: number
  issuedCap: number
  issuedMinAgeMs: number
  issuedTtlMs: number
  issuedHardCap: number
  utcOffsetMinutes: number
  futureMaxMs: number
  /** The most that the clock of a server differs from the clock of the world. */
  skewMaxMs: number
}

export type Landing = { tick: number; at: number; playedAt: number }
export type Issue = { tick: number; issuedAt: number }
/** A play that a process acknowledged as logged. `since`: the tick of the request. */
type Acknowledged = { since: number; tick: number; playedAt: number }
type Stored = { hot: SeenHotState; records: SeenRecordsState; legacy?: LegacyState | undefined }

export type SeenFacts = ReturnType<typeof makeSeenFacts>

export function makeSeenFacts(rules: SeenRules, now: () => number) {
  /** By viewer, then by business and oid. */
  const landings = new Map<string, Landing[]>()
  /** Times of plays that the log has, or had, by viewer, business and oid. */
  const logged = new Map<string, number[]>()
  /** By process, then by viewer, business and oid. */
  const acknowledged = new WeakMap<object, Map<string, Acknowledged>>()
  /** By viewer and business, then by oid. */
  const issues = new Map<string, Map<string, Issue>>()
  /** Filters that were damaged once. A rebuilt filter has everything since the beginning of its month. */
  const damaged = new Set<string>()
  let stores: Stored | undefined
  let ticks = 0

  function landed(viewer: ViewerId, business: BusinessNumber, oid: string): readonly Landing[] {
    return landings.get(`${viewer} ${keyText(business, oid)}`) ?? []
  }

  function isLogged(viewer: ViewerId, business: BusinessNumber, oid: string, oldest = 0): boolean {
    return logged.get(`${viewer} ${keyText(business, oid)}`)?.some((playedAt) => monthOf(playedAt) >= oldest) === true
  }

  return {
    ...{ rules, now, landings, issues, damaged, landed, isLogged },
    tick: () => ticks,
    nextTick: () => ++ticks,
    watch: (watched: Stored) => void (stores = watched),
    stores: () => stores as Stored,
    /** True for a month that is live on the clock of every server. */
    isLiveFor(playedAt: number): boolean {
      return monthOf(playedAt) >= monthOf(now() + rules.skewMaxMs) - rules.monthsBefore
    },
    isDamaged(viewer: ViewerId): boolean {
      return [...damaged].some((key) => key.slice(key.indexOf(':') + 1) === viewer)
    },
    /** The month in which history has the play. */
    newestMonthOf(viewer: ViewerId, key: string): Month {
      return monthOf(Math.max(...(landings.get(`${viewer} ${key}`) ?? []).map(({ playedAt }) => playedAt)))
    },
    /** The log has the play, from any sender. */
    logged({ viewer, business, oid, playedAt }: Play): void {
      const key = `${viewer} ${keyText(business, oid)}`
      logged.set(key, [...(logged.get(key) ?? []), playedAt])
    },
    /** This process acknowledged the play as logged. `since`: the tick of the request. */
    acknowledged(life: object, { viewer, business, oid, playedAt }: Play, since: number): void {
      const own = acknowledged.get(life) ?? new Map<string, Acknowledged>()
      acknowledged.set(life, own.set(`${viewer} ${keyText(business, oid)}`, { since, tick: ++ticks, playedAt }))
    },
    acknowledgedBy: (life: object, { viewer, business, oid }: Omit<Play, 'playedAt'>): Acknowledged | undefined =>
      acknowledged.get(life)?.get(`${viewer} ${keyText(business, oid)}`),
  }
}
