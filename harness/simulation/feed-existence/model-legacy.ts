/**
 * The legacy store in plain maps, the promises about it, and the port of one process. Pages are in hash order, as with ZSCAN: a member that
 * is in the set from the first page to the last is in at least one page, and maybe in two.
 *
 * Members that a set had before its viewer was listed are promised: a process that knows the legacy store never shows them again. Plays
 * that an application writes to both sides later are promised when they are recorded here.
 */
import type { BusinessNumber, Month, Play, ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyKind, LegacyPlay, LegacyPlays } from '../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { atOnce, type Gate } from '../gate.ts'
import { OIDS, keyText } from './universe.ts'

export type LegacyFaults = {
  /** Pages by rank: a member whose score changes meanwhile may be missed. */
  pagesByRank?: boolean
  /** A play that is written back late replaces a newer time. */
  overwritesTimes?: boolean
}

type Promised = { playedAt: number; tick: number }

export type LegacyState = ReturnType<typeof makeLegacyState>

/** `businesses`: the businesses with plays in the store. `wasDown`: the store was down at some time, or has a key that accepts no play. */
export function makeLegacyState(faults: LegacyFaults, businesses: readonly BusinessNumber[], nextTick: () => number) {
  /** By viewer and business: oid → playedAt. */
  const sets = new Map<string, Map<string, number>>()
  const promised = new Map<string, Map<string, Promised>>()
  /** Every member that was ever in a set: by viewer, and by viewer and month of its time. */
  const ever = new Map<string, Set<string>>()
  /** Members that the old system has removed, by viewer, business and oid. */
  const trimmed = new Set<string>()
  /** Keys that hold another type than a sorted set. */
  const others = new Set<string>()

  function put({ viewer, business, oid, playedAt }: Play): void {
    const name = nameOf(viewer, business)
    const set = sets.get(name) ?? new Map<string, number>()
    sets.set(name, set)
    set.set(oid, faults.overwritesTimes === true ? playedAt : Math.max(playedAt, set.get(oid) ?? 0))
    for (const place of [`${monthOf(playedAt)}:${viewer}`, viewer])
      ever.set(place, (ever.get(place) ?? new Set()).add(keyText(business, oid)))
  }

  return {
    ...{ sets, others, faults, wasDown: false },
    /** True if the viewer has or may have plays in the store. */
    isOf: (viewer: ViewerId, business: BusinessNumber) => businesses.includes(business) && !others.has(nameOf(viewer, business)),
    put,
    /** Only the old system has the play, and it is trusted. */
    promise(play: Play): void {
      const { viewer, business, oid, playedAt } = play
      put(play)
      const name = nameOf(viewer, business)
      const own = promised.get(name) ?? new Map<string, Promised>()
      own.set(oid, { playedAt: Math.max(playedAt, own.get(oid)?.playedAt ?? 0), tick: nextTick() })
      promised.set(name, own)
    },
    /** Trims as ZREMRANGEBYRANK does. Removed members are no longer promised. */
    trimOldest(viewer: ViewerId, business: BusinessNumber): void {
      const name = nameOf(viewer, business)
      const set = sets.get(name)
      const [oldest] = [...(set ?? [])].toSorted(([, a], [, b]) => a - b)
      if (set === undefined || oldest === undefined) return
      set.delete(oldest[0])
      if (set.size === 0) sets.delete(name)
      promised.get(name)?.delete(oldest[0])
      trimmed.add(`${viewer} ${keyText(business, oldest[0])}`)
    },
    promiseOf: (viewer: ViewerId, business: BusinessNumber, oid: string) => promised.get(nameOf(viewer, business))?.get(oid),
    promisesOf: (viewer: ViewerId, business: BusinessNumber): ReadonlyMap<string, Promised> =>
      promised.get(nameOf(viewer, business)) ?? new Map<string, Promised>(),
    stoodIn: (viewer: ViewerId, month: Month, key: string) => ever.get(`${month}:${viewer}`)?.has(key) === true,
    stoodAnyhow: (viewer: ViewerId, key: string) => ever.get(viewer)?.has(key) === true,
    /** By month and viewer. */
    stood: (): [string, ReadonlySet<string>][] => [...ever].filter(([place]) => place.includes(':')),
    /** True if the old system has this play, at that time or later. */
    hasPlay: ({ viewer, business, oid, playedAt }: Play) =>
      (sets.get(nameOf(viewer, business))?.get(oid) ?? -1) >= playedAt || trimmed.has(`${viewer} ${keyText(business, oid)}`),
    kindOf: (viewer: ViewerId, business: BusinessNumber): LegacyKind =>
      others.has(nameOf(viewer, business)) ? 'other' : sets.has(nameOf(viewer, business)) ? 'set' : 'none',
  }
}

export function nameOf(viewer: ViewerId, business: BusinessNumber): string {
  return `${viewer} ${business}`
}

/** The port of one process. `mayThinkAbsent`: the process has received, or is about to receive, the answer that there is no set. */
export type SimulatedLegacyPlays = LegacyPlays & { mayThinkAbsent(viewer: ViewerId, business: BusinessNumber): boolean }

/** `onWholeRead`: called at the instant at which a reader gets the last page of a set. */
export function openSimulatedLegacyPlays(
  state: LegacyState,
  gate: Gate,
  now: () => number,
  absentMs: number,
  pageMax: number,
  onWholeRead: (viewer: ViewerId, business: BusinessNumber) => void = () => undefined,
): SimulatedLegacyPlays {
  /** The time until which the absence is remembered, and the number of such answers in flight. */
  const absentUntil = new Map<string, number>()
  const onTheirWay = new Map<string, number>()
  const count = (name: string, by: number): void => void onTheirWay.set(name, (onTheirWay.get(name) ?? 0) + by)
  const keyOf = (viewer: ViewerId, business: BusinessNumber): string => `played:${business}:${viewer}`

  /** The server reports the type of the key in its answer. */
  function refusalOf(viewer: ViewerId, business: BusinessNumber): TidemarkError | undefined {
    if (state.kindOf(viewer, business) !== 'other') return undefined
    return new TidemarkError('LEGACY_INVALID', `${keyOf(viewer, business)} in the legacy store is not a sorted set: remove it`)
  }

  async function asking<T>(viewer: ViewerId, business: BusinessNumber, name: string, rest: unknown, act: () => T): Promise<T> {
    const answer = await atOnce(gate, 'legacy', name, [{ viewer }, business, rest], () => refusalOf(viewer, business) ?? { value: act() })
    if (answer instanceof TidemarkError) throw answer
    return answer.value
  }

  function setOf(viewer: ViewerId, business: BusinessNumber): ReadonlyMap<string, number> {
    return state.sets.get(nameOf(viewer, business)) ?? new Map<string, number>()
  }

  function inOrder(set: ReadonlyMap<string, number>): LegacyPlay[] {
    const plays = OIDS.flatMap((oid) => (set.has(oid) ? [{ oid, playedAt: set.get(oid) as number }] : []))
    return state.faults.pagesByRank === true ? plays.toSorted((a, b) => b.playedAt - a.playedAt) : plays
  }

  /** In the fixed order of the universe. The last member of a page may be in the next page too. */
  function pageOf(set: ReadonlyMap<string, number>, from: number): { plays: LegacyPlay[]; next: string | undefined } {
    const places = state.faults.pagesByRank === true ? inOrder(set).map(({ oid }) => oid) : OIDS
    const to = Math.min(places.length, from + pageMax + 1)
    const plays = places.slice(from, to).flatMap((oid) => (set.has(oid) ? [{ oid, playedAt: set.get(oid) as number }] : []))
    return { plays, next: to < places.length ? String(to - (state.faults.pagesByRank === true ? 0 : 1)) : undefined }
  }

  return {
    keyOf,
    mayThinkAbsent(viewer, business) {
      const name = nameOf(viewer, business)
      return (onTheirWay.get(name) ?? 0) > 0 || (absentUntil.get(name) ?? -Infinity) >= now()
    },
    async getPlayedAt(viewer, business, oids) {
      const name = nameOf(viewer, business)
      let isAbsent = false
      try {
        return await asking(viewer, business, 'getPlayedAt', undefined, () => {
          const set = setOf(viewer, business)
          isAbsent = set.size === 0
          if (isAbsent) count(name, 1)
          return { exists: !isAbsent, playedAt: oids.map((oid) => set.get(oid)) }
        })
      } finally {
        if (isAbsent) count(name, -1)
        if (isAbsent) absentUntil.set(name, now() + absentMs)
      }
    },
    listPlays: (viewer, business, page) =>
      asking(viewer, business, 'listPlays', page, () => {
        const found = pageOf(setOf(viewer, business), Number(page ?? 0))
        if (found.next === undefined) onWholeRead(viewer, business)
        return { ...found, invalid: [] }
      }),
    examine: (of) => atOnce(gate, 'legacy', 'examine', [of], () => of.map(({ viewer, business }) => state.kindOf(viewer, business))),
    putPlays: (plays) => {
      const refused: Play[] = []
      const parts = plays.map((play) => () => {
        if (state.kindOf(play.viewer, play.business) === 'other') refused.push(play)
        else state.put(play)
      })
      return gate.call('legacy', 'putPlays', [plays], parts, () => refused)
    },
    check: () => atOnce(gate, 'legacy', 'check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}
