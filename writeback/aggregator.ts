/**
 * The aggregator turns many reports into few log messages. It holds, per region, the keys written since the region's last flush. A region is
 * flushed when it holds `keysMax` keys, or when its oldest key is `ageMaxMs` old.
 *
 * It holds keys, never contents: the hot store has the newest content, so a key reported a hundred times leaves once. A key keeps the
 * newest day on which its play was staged.
 *
 * It may forget everything at any moment: the dirty marks are in the hot store, and the sweeper persists them. A full aggregator therefore
 * drops keys and never makes a writer wait.
 */
import type { Clock, Timer } from '../core/clock.ts'
import type { FlushedKey } from '../core/domain.ts'
import { keyText } from '../core/progress-key.ts'

export type AggregatorOptions = {
  /** Keys a region may hold before it is flushed. Minimum 1. Default 500. */
  keysMax: number
  /** Milliseconds the oldest key of a region may wait. Minimum 1. Default 60000. */
  ageMaxMs: number
  /** Keys all regions may hold together; further new keys are dropped. Default 1000000. */
  heldMax: number
}

/** The settings of a section that are these options. */
export const AGGREGATOR_SETTINGS = { keysMax: 'flushKeysMax', ageMaxMs: 'flushAgeMaxMs', heldMax: 'aggregatorKeysMax' } as const

export type RegionKeys = { region: number; keys: readonly FlushedKey[] }

export type AggregatorFigures = {
  /** Keys given to `add`, repetitions included. */
  added: number
  /** Keys that left in flushes. */
  flushed: number
  /** Keys dropped because the aggregator was full; the sweeper persists them. */
  dropped: number
  /** Keys held now. */
  held: number
}

export type Aggregator = {
  add(region: number, key: FlushedKey): void
  /** Flushes everything at once; the order of a shutdown needs it before the log closes. */
  flushAll(): void
  figures(): AggregatorFigures
}

type Held = { since: number; keys: Map<string, FlushedKey> }

/** `flush` must not throw. Keys that it cannot deliver are left to the sweeper. */
export function makeAggregator(clock: Clock, flush: (regions: readonly RegionKeys[]) => void, options: AggregatorOptions): Aggregator {
  // A region enters this map with its first key, so the map is ordered by age and its first entry is the oldest.
  const regions = new Map<number, Held>()
  const figures: AggregatorFigures = { added: 0, flushed: 0, dropped: 0, held: 0 }
  let timer: Timer | undefined
  let plannedMs = options.ageMaxMs

  function add(region: number, key: FlushedKey): void {
    figures.added++
    let held = regions.get(region)
    const text = keyText(key)
    if (held?.keys.has(text)) {
      if (key.stagedOn !== undefined) held.keys.set(text, key)
      return
    }
    if (figures.held >= options.heldMax) {
      figures.dropped++
      return
    }
    if (held === undefined) {
      held = { since: clock.now(), keys: new Map() }
      regions.set(region, held)
    }
    held.keys.set(text, key)
    figures.held++
    if (held.keys.size >= options.keysMax) flush([take(region, held)])
    else plan()
  }

  function plan(): void {
    if (timer !== undefined && plannedMs !== options.ageMaxMs) {
      timer.cancel()
      timer = undefined
    }
    if (timer !== undefined) return
    plannedMs = options.ageMaxMs
    const oldest = regions.values().next().value
    if (oldest !== undefined) timer = clock.after(Math.max(0, oldest.since + plannedMs - clock.now()), flushAged)
  }

  function take(region: number, held: Held): RegionKeys {
    regions.delete(region)
    figures.held -= held.keys.size
    figures.flushed += held.keys.size
    return { region, keys: [...held.keys.values()] }
  }

  function flushAged(): void {
    timer = undefined
    const now = clock.now()
    const aged: RegionKeys[] = []
    for (const [region, held] of regions) {
      if (held.since + options.ageMaxMs > now) break
      aged.push(take(region, held))
    }
    plan()
    if (aged.length > 0) flush(aged)
  }

  function flushAll(): void {
    timer?.cancel()
    timer = undefined
    const all = [...regions].map(([region, held]) => take(region, held))
    if (all.length > 0) flush(all)
  }

  return { add, flushAll, figures: () => ({ ...figures }) }
}
