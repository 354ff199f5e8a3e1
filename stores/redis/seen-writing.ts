/** What services write of what was seen, and what the job removes once it is folded: one script per region and call. */
import type { BusinessNumber, Play, ViewerId } from '../../core/domain.ts'
import { FOLDS_KEPT_MS } from '../seen-store.ts'
import type { IssuedOptions, RingShape, StageOptions, StagedPlay } from '../seen-store.ts'
import { scriptCommand } from './connection.ts'
import type { Argument, Command, Connection } from './connection.ts'
import { groupByRegion } from './grouping.ts'
import { SCRIPTS } from './scripts.ts'
import { packPlays } from './seen-layout.ts'
import type { SeenLayout } from './seen-layout.ts'

type Folded = { viewer: ViewerId; plays: readonly StagedPlay[] }

/** Plays one script removes, unless one viewer has more, so that none holds up its server for more than about a millisecond. */
const PLAYS_PER_SCRIPT = 500

export type SeenWritingOptions = {
  shards: number
  issuedTtlMs: number
  /** All shapes of the ring that are known. */
  shapes: () => Promise<RingShape[]>
}

export function makeSeenWriting(connection: Connection, layout: SeenLayout, { shards, issuedTtlMs, shapes }: SeenWritingOptions) {
  function removeCommand(slot: number, region: number, folded: readonly Folded[], counts: readonly number[]): Command {
    const keys: string[] = []
    const args: Argument[] = [slot, counts.length, FOLDS_KEPT_MS]
    for (const { viewer, plays } of folded) {
      keys.push(layout.staged(region, viewer), ...counts.map((count) => layout.ringOf(slot, viewer, count)))
      args.push(viewer, packPlays(slot, plays))
    }
    return scriptCommand(SCRIPTS.removeStaged, keys, args)
  }

  return {
    async putIssued(viewer: ViewerId, business: BusinessNumber, oids: readonly string[], options: IssuedOptions): Promise<void> {
      if (oids.length === 0) return
      const { now, cap, minAgeMs, hardCap } = options
      const key = layout.issued(layout.regionOf(viewer), viewer, business)
      await connection.send([scriptCommand(SCRIPTS.putIssued, [key], [now, cap, minAgeMs, hardCap, issuedTtlMs, ...oids])])
    },

    async stagePlays(plays: readonly Play[], { slot }: StageOptions): Promise<{ viewer: ViewerId; staged: number }[]> {
      const counts = new Map(plays.map(({ viewer }) => [viewer, 0]))
      const batches = groupByRegion(plays, ({ viewer }) => ({ viewer, business: 0 }), layout.regionOf)
      const answers = (await connection.send(
        batches.map(({ region, groups, items }) => {
          const byViewer: Play[][] = groups.map(() => [])
          for (const { item, place } of items) byViewer[place]?.push(item)
          return scriptCommand(
            SCRIPTS.stagePlays,
            groups.flatMap(({ viewer }) => [layout.staged(region, viewer), layout.ringOf(slot, viewer, shards)]),
            [slot, ...groups.flatMap(({ viewer }, place): Argument[] => [viewer, packPlays(slot, byViewer[place] ?? [])])],
          )
        }),
      )) as number[][]
      batches.forEach(({ groups }, at) => groups.forEach(({ viewer }, place) => counts.set(viewer, answers[at]?.[place] as number)))
      return Array.from(counts, ([viewer, staged]) => ({ viewer, staged }))
    },

    async removeStaged(slot: number, folded: readonly Folded[]): Promise<void> {
      if (folded.length === 0) return
      const counts = [...new Set((await shapes()).map((shape) => shape.shards))]
      const batches = inScripts(folded, layout.regionOf)
      await connection.send(batches.map(({ region, some }) => removeCommand(slot, region, some, counts)))
    },
  }
}

/** What is one viewer's stays together, since his plays leave in one step. */
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
