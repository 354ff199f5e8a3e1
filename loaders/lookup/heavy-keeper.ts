/**
 * The HeavyKeeper sketch over two panes of a window: the buckets, their contests and estimates. `hot-keys.ts` explains the
 * algorithm, its errors and its memory.
 */
import type { Random } from '../../core/random.ts'

/** The decay base that the paper found best. */
const DECAY_BASE = 1.08
/** The chance that a count of this index loses one. From 256 on it is below 3 in a thousand million and counts as zero. */
const DECAY_CHANCES = Float64Array.from({ length: 256 }, (_, count) => DECAY_BASE ** -count)

/** Two rows of 2^`widthBits` buckets each. `lastWeight`: the part of the last pane that the window still covers. */
export function makeHeavyKeeper(widthBits: number, random: Random) {
  const width = 2 ** widthBits
  /** Two rows of `width` buckets of four words: fingerprint and count of one pane, then of the other, in one line of the CPU's cache. */
  const buckets = new Uint32Array(2 * width * 4)
  /** 0 or 2: the place of the current pane in a bucket; the last pane is at the other. */
  let pane = 0

  /** Counts the key, and returns the new estimate. */
  function add(print: number, count: number, lastWeight: number): number {
    const bits = mixed(print)
    const first = firstBucket(bits)
    const second = secondBucket(bits)
    const current = Math.max(countIn(first, print, count), countIn(second, print, count))
    return current + lastWeight * held(first, second, pane ^ 2, print)
  }

  function firstBucket(bits: number): number {
    return (bits & (width - 1)) * 4
  }

  function secondBucket(bits: number): number {
    return (width + (Math.imul(bits, 0x9e3779b1) >>> (32 - widthBits))) * 4
  }

  /** The key's count in this bucket after `count` more; 0 if the bucket still belongs to another key. */
  function countIn(bucket: number, print: number, count: number): number {
    const at = bucket + pane
    const had = buckets[at + 1] as number
    if (had > 0 && buckets[at] !== print) return had < DECAY_CHANCES.length ? contest(at, print, count) : 0
    buckets[at] = print
    return (buckets[at + 1] = Math.min(had + count, 0xffffffff))
  }

  function contest(at: number, print: number, count: number): number {
    let had = buckets[at + 1] as number
    for (let left = count; left > 0; left--) {
      const chance = DECAY_CHANCES[had] as number
      // Skips the additions before the next effective one. The loop is at most as long as the count of the bucket.
      if (left > 1) left -= Math.floor(Math.log(1 - random()) / Math.log(1 - chance))
      else if (random() >= chance) break
      if (left <= 0) break
      buckets[at + 1] = --had
      if (had > 0) continue
      buckets[at] = print
      return (buckets[at + 1] = left)
    }
    return 0
  }

  function held(first: number, second: number, pane: number, print: number): number {
    const inFirst = buckets[first + pane] === print ? (buckets[first + pane + 1] as number) : 0
    const inSecond = buckets[second + pane] === print ? (buckets[second + pane + 1] as number) : 0
    return Math.max(inFirst, inSecond)
  }

  function estimate(print: number, lastWeight: number): number {
    const bits = mixed(print)
    const first = firstBucket(bits)
    const second = secondBucket(bits)
    return held(first, second, pane, print) + lastWeight * held(first, second, pane ^ 2, print)
  }

  /** Begins a new pane. `isNext`: it follows the current one, which becomes the last. */
  function turnPane(isNext: boolean): void {
    pane ^= 2
    for (let at = pane + 1; at < buckets.length; at += 4) buckets[at] = 0
    if (!isNext) for (let at = (pane ^ 2) + 1; at < buckets.length; at += 4) buckets[at] = 0
  }

  return { add, estimate, turnPane }
}

/** The finalizer of MurmurHash3 (A. Appleby, public domain): every bit of the print affects every bit of the place. */
function mixed(print: number): number {
  let bits = Math.imul(print ^ (print >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
