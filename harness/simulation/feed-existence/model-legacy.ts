/**
 * The legacy store in plain maps, what is true of it, and one process's port to it. Pages are those of ZSCAN: in the order of a hash,
 * so that what is in a set from the first page to the last is in one of them, and maybe in two.
 *
 * Of what is in a set, that is promised which came there before its viewer was listed: from the moment at which a process knows of
 * this store, none that reads through it is shown that again. What an application writes to both sides later is promised when it
 * is recorded here.
 */
import type { BusinessNumber, Month, Play, ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyKind, LegacyPlay, LegacyPlays } from '../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { atOnce, type Gate } from '../gate.ts'
import { OIDS, keyText } from './universe.ts'

export type LegacyFaults = {
  /** Pages by rank: who is scored anew meanwhile may be passed over. */
  pagesByRank?: boolean
  /** A play that comes back late puts its older time over a newer one. */
  overwritesTimes?: boolean
}

type Promised = { playedAt: number; tick: number }

export type LegacyState = ReturnType<typeof makeLegacyState>

/** `businesses`: those that have plays there. `wasDown`: at any time, or is there a key that takes nothing? */
export function makeLegacyState(faults: LegacyFaults, businesses: readonly BusinessNumber[], nextTick: () => number) {
  /** By viewer and business: oid → playedAt. */
  const sets = new Map<string, Map<string, number>>()
  const promised = new Map<string, Map<string, Promised>>()
  /** By viewer and month, and by viewer: everything that ever stood in a set, with a time of that month. */
  const ever = new Map<string, Set<string>>()
  /** By viewer, business and oid: what the old system has removed. */
  const trimmed = new Set<string>()
  /** Keys at which no sorted set stands. */
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
    /** Has he plays there, or may have? */
    isOf: (viewer: ViewerId, business: BusinessNumber) => businesses.includes(business) && !others.has(nameOf(viewer, business)),
    put,
    /** The old system alone has it, and is to be believed. */
    promise(play: Play): void {
      const { viewer, business, oid, playedAt } = play
      put(play)
      const name = nameOf(viewer, business)
      const own = promised.get(name) ?? new Map<string, Promised>()
      own.set(oid, { playedAt: Math.max(playedAt, own.get(oid)?.playedAt ?? 0), tick: nextTick() })
      promised.set(name, own)
    },
    /** As ZREMRANGEBYRANK does it. Nobody promises anything of it any more. */
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
    /** Does the old system know that this was played, at that time or later? */
    hasPlay: ({ viewer, business, oid, playedAt }: Play) =>
      (sets.get(nameOf(viewer, business))?.get(oid) ?? -1) >= playedAt || trimmed.has(`${viewer} ${keyText(business, oid)}`),
    kindOf: (viewer: ViewerId, business: BusinessNumber): LegacyKind =>
      others.has(nameOf(viewer, business)) ? 'other' : sets.has(nameOf(viewer, business)) ? 'set' : 'none',
  }
}

export function nameOf(viewer: ViewerId, business: BusinessNumber): string {
  return `${viewer} ${business}`
}

/** A process's port. `mayThinkAbsent`: has it been told, or is it being told, that there is no set? */
export type SimulatedLegacyPlays = LegacyPlays & { mayThinkAbsent(viewer: ViewerId, business: BusinessNumber): boolean }

/** `onWholeRead`: told in the instant in which somebody is given the last page of a set. */
export function openSimulatedLegacyPlays(
  state: LegacyState,
  gate: Gate,
  now: () => number,
  absentMs: number,
  pageMax: number,
  onWholeRead: (viewer: ViewerId, business: BusinessNumber) => void = () => undefined,
): SimulatedLegacyPlays {
  /** Until when it is remembered, and how many such answers are on their way. */
  const absentUntil = new Map<string, number>()
  const onTheirWay = new Map<string, number>()
  const count = (name: string, by: number): void => void onTheirWay.set(name, (onTheirWay.get(name) ?? 0) + by)
  const keyOf = (viewer: ViewerId, business: BusinessNumber): string => `played:${business}:${viewer}`

  /** What stands there says its server, in its answer. */
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

  /** By the place of an id in the universe, which nothing changes; the last one of a page may be in the next one too. */
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
