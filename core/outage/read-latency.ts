/**
 * Judges the latency of a store by rounds of reads, and adjusts a concurrency limit. Reads are judged per kind and size.
 * `record-reads.ts` explains the rule.
 */
import type { Clock } from '../clock.ts'
import type { ConcurrencyLimit } from '../concurrency-limit.ts'

/** Reads of one kind that are judged together. */
const ROUND = 8
/** The usual time follows slowly. Otherwise the luckiest of many rounds would be the measure. */
const USUAL_SHARE = 1 / 8
const SLOW_ROUNDS = 2
/** A cut was in vain if reads still take more than this part of their time: half the reads should take about half as long. */
const VAIN_RATIO = 0.75
const VAIN_CUTS_MAX = 2
const SLOW_RATIO = 2
/** One turn of this process's event loop takes some milliseconds. A smaller difference says nothing about a store. */
const NOTICED_MS = 5

/** Times are those of the fastest read of a round. `slowMs`: at the last cut. */
type Kind = { usualMs: number; slowRounds: number; slowMs: number; vainCuts: number } & Round
/** The current round. `full`: its reads that reached the limit. */
type Round = { fastestMs: number; count: number; full: number }
const NO_ROUND: Round = { fastestMs: Infinity, count: 0, full: 0 }
const NOT_SLOW = { slowRounds: 0, slowMs: Infinity, vainCuts: 0 }

export type ReadLatency = {
  /** A read ended that had begun at this time. `isFull`: it reached the limit. */
  judge(read: { kind: string; size: number }, beganAt: number, isFull: boolean): void
}

export function makeReadLatency(clock: Clock, limit: ConcurrencyLimit): ReadLatency {
  const kinds = new Map<string, Kind>()

  function judge(kind: Kind, beganAt: number, isFull: boolean): void {
    if (limit.isEarlier(beganAt)) return
    kind.fastestMs = Math.min(kind.fastestMs, clock.now() - beganAt)
    kind.count++
    if (isFull) kind.full++
    if (kind.count < ROUND) return
    const { full, fastestMs, usualMs } = kind
    Object.assign(kind, NO_ROUND)
    if (fastestMs > usualMs * SLOW_RATIO + NOTICED_MS) {
      if (++kind.slowRounds >= SLOW_ROUNDS) answerSlow(kind, fastestMs, beganAt)
      return
    }
    Object.assign(kind, NOT_SLOW)
    if (usualMs === Infinity) kind.usualMs = fastestMs
    else if (fastestMs < usualMs) kind.usualMs -= (usualMs - fastestMs) * USUAL_SHARE
    for (let growths = Math.min(full, limit.calls()); growths > 0; growths--) limit.grow(true)
  }

  function answerSlow(kind: Kind, fastestMs: number, beganAt: number): void {
    const vainCuts = fastestMs > kind.slowMs * VAIN_RATIO ? kind.vainCuts + 1 : 0
    const done = vainCuts < VAIN_CUTS_MAX ? limit.cut(beganAt) : 'least'
    if (done === 'least') Object.assign(kind, NOT_SLOW, { usualMs: fastestMs })
    else Object.assign(kind, { slowRounds: 0, slowMs: fastestMs, vainCuts })
    if (done === 'cut') for (const each of kinds.values()) Object.assign(each, NO_ROUND)
  }

  function kindOf({ kind, size }: { kind: string; size: number }): Kind {
    const name = `${kind} ${32 - Math.clz32(size)}`
    let found = kinds.get(name)
    if (found === undefined) kinds.set(name, (found = { usualMs: Infinity, ...NOT_SLOW, ...NO_ROUND }))
    return found
  }

  return { judge: (read, beganAt, isFull) => judge(kindOf(read), beganAt, isFull) }
}
