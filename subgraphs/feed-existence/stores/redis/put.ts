/** The writes of services, and the removals of the job after a fold: one script per region and call. */
import type { BusinessNumber, RewardKind, ViewerId } from '../../../../core/domain.ts'
import { claimedBusiness } from '../../../../core/rewards.ts'
import { FOLDS_KEPT_MS } from '../hot-store.ts'
import type { IssuedOptions, PlayWrite, RingShape, StageOptions, StagedCount, StagedPlay } from '../hot-store.ts'
import { tooManyStaged } from '../staged-limit.ts'
import { scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Command, Connection } from '../../../../stores/redis/connection.ts'
import { flagPlaceOf } from './day-flags.ts'
import { groupByRegion } from '../../../../stores/redis/grouping.ts'
import { packReward } from '../../../../writeback/stores/redis/pending-rewards.ts'
import { SCRIPTS } from './scripts.ts'
import { packPlays } from './keys.ts'
import type { SeenLayout } from './keys.ts'

type Folded = { viewer: ViewerId; plays: readonly StagedPlay[] }

/** Plays that one script removes, so that it blocks its server for about a millisecond; a few milliseconds for a single viewer. */
const PLAYS_PER_SCRIPT = 500
const PLAYS_OF_VIEWER = 2_500
/** Scripts sent at once, since the wait for an answer is bounded. */
const SCRIPTS_AT_ONCE = 64

export type SeenWritingOptions = {
  shards: number
  /** All known shapes of the ring. */
  shapes: () => Promise<RingShape[]>
}

export function makeSeenWriting(connection: Connection, layout: SeenLayout, { shards, shapes }: SeenWritingOptions) {
  function removeCommand(slot: number, region: number, folded: readonly Folded[], counts: readonly number[]): Command {
    const keys: string[] = []
    const args: Argument[] = [slot, counts.length, FOLDS_KEPT_MS]
    for (const { viewer, plays } of folded) {
      keys.push(layout.staged(region, viewer), ...counts.map((count) => layout.ringOf(slot, viewer, count)))
      args.push(viewer, packPlays(slot, plays))
    }
    return scriptCommand(SCRIPTS.removeStaged, keys, args)
  }

  /** The key and the arguments of a claim, in the form of `first-of-day.lua`. */
  function claimOf({ viewer, business, day, kind }: Claim): { key: string; args: Argument[] } {
    const { page, place } = flagPlaceOf(viewer, layout.regions)
    const key = layout.flags(layout.regionOf(viewer), kind === 'FIRST_PLAY' ? 'p' : 'i', business, day, page)
    return { key, args: [place, packReward({ viewer, business, day, kind })] }
  }

  return {
    async putIssued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], options: IssuedOptions): Promise<boolean> {
      if (oids.length === 0) return false
      const { now, cap, minAgeMs, hardCap, ttlMs, day, dayForAll } = options
      const region = layout.regionOf(viewer)
      const claimed = claimedBusiness({ business, dayForAll })
      const claim = day === undefined ? undefined : claimOf({ viewer, business: claimed, day, kind: 'FIRST_ISSUE' })
      const keys = [layout.issued(region, viewer, business), ...(claim === undefined ? [] : [layout.rewards(region), claim.key])]
      const args = [now, cap, minAgeMs, hardCap, ttlMs, ...(claim?.args ?? ['', '']), ...oids]
      const [isFirst] = await connection.send([scriptCommand(SCRIPTS.putIssued, keys, args)])
      return isFirst === 1
    },

    async stagePlays(plays: readonly PlayWrite[], { now, slot, max = 0 }: StageOptions): Promise<StagedCount[]> {
      const counts = new Map<ViewerId, StagedCount>(plays.map(({ viewer }) => [viewer, { viewer, staged: 0 }]))
      const batches = groupByRegion(plays, ({ viewer }) => ({ viewer, business: 0 }), layout.regionOf).map((batch) => ({
        ...batch,
        claims: claimsOf(batch.items.map(({ item }) => item)),
      }))
      const answers = (await connection.send(
        batches.map(({ region, groups, items, claims }) => {
          const byViewer: PlayWrite[][] = groups.map(() => [])
          for (const { item, place } of items) byViewer[place]?.push(item)
          const claimed = claims.map(claimOf)
          return scriptCommand(
            SCRIPTS.stagePlays,
            [
              layout.rewards(region),
              ...groups.flatMap(({ viewer }) => [layout.staged(region, viewer), layout.ringOf(slot, viewer, shards)]),
              ...claimed.map(({ key }) => key),
            ],
            [
              ...[slot, now, groups.length, max],
              ...groups.flatMap(({ viewer }, place): Argument[] => [viewer, packPlays(slot, byViewer[place] ?? [])]),
              ...claimed.flatMap(({ args }) => args),
            ],
          )
        }),
      )) as number[][]
      batches.forEach(({ groups, claims }, at) => {
        const answer = answers[at] as number[]
        if (answer[0] === -1) throw tooManyStaged(groups[0]?.viewer ?? '', max)
        groups.forEach(({ viewer }, place) => counts.set(viewer, { viewer, staged: answer[place] as number }))
        claims.forEach(({ viewer, business, day }, place) => {
          const count = counts.get(viewer)
          if (answer[groups.length + place] === 1 && count !== undefined) (count.firsts ??= []).push({ business, day })
        })
      })
      return [...counts.values()]
    },

    async removeStaged(slot: number, folded: readonly Folded[]): Promise<void> {
      if (folded.length === 0) return
      const counts = [...new Set((await shapes()).map((shape) => shape.shards))]
      const batches = inScripts(folded.flatMap(inPortions), layout.regionOf)
      for (let next = 0; next < batches.length; next += SCRIPTS_AT_ONCE) {
        const some = batches.slice(next, next + SCRIPTS_AT_ONCE)
        await connection.send(some.map(({ region, some }) => removeCommand(slot, region, some, counts)))
      }
    },
  }
}

type Claim = { viewer: ViewerId; business: BusinessNumber; day: number; kind: RewardKind }

/** Each claim once. */
function claimsOf(plays: readonly PlayWrite[]): Claim[] {
  const claims = new Map<string, Claim>()
  for (const play of plays) {
    const { viewer, day } = play
    const business = claimedBusiness(play)
    if (day !== undefined) claims.set(`${day}:${business}:${viewer}`, { viewer, business, day, kind: 'FIRST_PLAY' })
  }
  return [...claims.values()]
}

/** Each portion counts as a fold, and removes the viewer from the ring if nothing is left. */
function inPortions(one: Folded): Folded[] {
  if (one.plays.length <= PLAYS_OF_VIEWER) return [one]
  return Array.from({ length: Math.ceil(one.plays.length / PLAYS_OF_VIEWER) }, (_, at) => ({
    viewer: one.viewer,
    plays: one.plays.slice(at * PLAYS_OF_VIEWER, (at + 1) * PLAYS_OF_VIEWER),
  }))
}

function inScripts(folded: readonly Folded[], regionOf: (viewer: ViewerId) => number): { region: number; some: Folded[] }[] {
  const all: { region: number; some: Folded[]; plays: number }[] = []
  const open = new Map<number, (typeof all)[number]>()
  for (const one of folded) {
    const region = regionOf(one.viewer)
    const weight = one.plays.length + 1
    let batch = open.get(region)
    if (batch === undefined || batch.plays + weight > PLAYS_PER_SCRIPT) {
      batch = { region, some: [], plays: 0 }
      open.set(region, batch)
      all.push(batch)
    }
    batch.some.push(one)
    batch.plays += weight
  }
  return all
}
