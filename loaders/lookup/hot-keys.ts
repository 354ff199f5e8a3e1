/**
 * Finds the keys that are hot now: a HeavyKeeper sketch (Gong, Yang, Zhang et al.: "HeavyKeeper: An Accurate Algorithm for Finding Top-k
 * Elephant Flows", USENIX ATC '18) over a sliding window.
 *
 * A key has one bucket in each of two rows: a fingerprint and a count. It counts in a bucket that is its own or empty. A bucket of another
 * key loses one with probability 1.08^-count, and changes hands at 0: small counts are worn away, large ones practically never. The larger
 * of a key's two counts is its estimate. Only hot keys are kept by name, for `list`. A threshold decides instead of the paper's heap: at
 * most 1 / `shareMin` keys can be hot.
 *
 * The window slides over two panes. A key has its count of this pane, plus the part of the last pane that the window still covers, as if
 * that count had come evenly: current + previous x (1 - elapsed / window). A burst therefore counts from its first addition on, and is
 * forgotten at most two windows after its last one.
 *
 * Error: the estimate never exceeds the true count of the panes, unless two keys share a 32-bit fingerprint and a bucket. For a key with n
 * of a pane's N additions and w buckets per row, a row loses at most N / (w n (1.08 - 1)) on average. It loses eN or more with a
 * probability of at most 1 / (e w n (1.08 - 1)). That is the paper's bound; N/w others meet the key in its bucket, evenly. With the
 * defaults (w = 4096), a key of 1% of 20,000 additions per window loses 0.3 of its 200 on average. A row loses a tenth of them with a
 * probability of at most 1.5%, and the better row counts.
 *
 * Memory: 32 bytes x w, w = 32 / `shareMin` to 64 / `shareMin` (128 KiB by default), and at most 8 / `shareMin` listed keys. The hash has a
 * random seed, so that clients cannot choose keys that collide.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import { makeHeavyKeeper } from './heavy-keeper.ts'

export type HotKeysOptions = {
  /** Milliseconds. Minimum 1. Default 1000. */
  windowMs: number
  /** The part of the window's additions that makes a key hot, 0.0001 to 1. Default 0.01. */
  shareMin: number
  /** Additions within the window below which no key is hot, whatever its share. Minimum 1. Default 100. */
  countMin: number
}

export type HotKey = { key: string; share: number; perSecond: number }

export type HotKeys = {
  /** Counts the key, and returns whether it is hot now. `count` is a whole number from 1. */
  add(key: string, count?: number): boolean
  isHot(key: string): boolean
  /** Hottest first. */
  list(): HotKey[]
}

const DEFAULTS: HotKeysOptions = { windowMs: 1_000, shareMin: 0.01, countMin: 100 }
/**
 * Reading the clock costs as much as an addition. `add` therefore reads it only once per this many additions. The other
 * methods always read it.
 */
const ADDS_PER_CLOCK_READING = 16

export function makeHotKeys(clock: Clock, random: Random, options: Partial<HotKeysOptions> = {}): HotKeys {
  const { windowMs, shareMin, countMin } = { ...DEFAULTS, ...options }
  assert(windowMs >= 1 && shareMin >= 0.0001 && shareMin <= 1 && countMin >= 1, 'windowMs, shareMin and countMin must be in their ranges')
  const widthBits = Math.ceil(Math.log2(32 / shareMin))
  const sketch = makeHeavyKeeper(widthBits, random)
  const seed = Math.floor(random() * 2 ** 32)
  const listed = makeListed(2 ** (widthBits - 2), isHot)
  let paneBegan = clock.now()
  let lastWeight = 1
  let total = 0
  let lastTotal = 0
  let addsUntilReading = ADDS_PER_CLOCK_READING

  function add(key: string, count = 1): boolean {
    if (--addsUntilReading === 0) readClock()
    total += count
    const print = fingerprint(key, seed)
    const isEnough = sketch.add(print, count, lastWeight) >= threshold()
    if (isEnough) listed.add(key, print)
    return isEnough
  }

  function windowTotal(): number {
    return total + lastWeight * lastTotal
  }

  function threshold(): number {
    return Math.max(countMin, shareMin * windowTotal())
  }

  function isHot(key: string): boolean {
    readClock()
    return sketch.estimate(fingerprint(key, seed), lastWeight) >= threshold()
  }

  function readClock(): void {
    addsUntilReading = ADDS_PER_CLOCK_READING
    const now = clock.now()
    // After the clock is set back, the window would stand still until the clock catches up.
    if (now < paneBegan) paneBegan = now
    if (now >= paneBegan + 2 * windowMs) turnPane(now)
    if (now >= paneBegan + windowMs) turnPane(paneBegan + windowMs)
    lastWeight = 1 - (now - paneBegan) / windowMs
  }

  function turnPane(began: number): void {
    const isNext = began === paneBegan + windowMs
    sketch.turnPane(isNext)
    lastTotal = isNext ? total : 0
    total = 0
    paneBegan = began
  }

  function list(): HotKey[] {
    return listed
      .keys()
      .map((key) => ({ key, count: sketch.estimate(fingerprint(key, seed), lastWeight) }))
      .map(({ key, count }) => ({ key, share: count / windowTotal(), perSecond: (count * 1_000) / windowMs }))
      .sort((a, b) => b.share - a.share)
  }

  return { add, isHot, list }
}

/** FNV-1a over UTF-16 units instead of bytes, from a seed: 32 bits. */
function fingerprint(key: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/**
 * The names of hot keys, in an open-addressed table by fingerprint. An addition to a hot key compares one number. Keys
 * that have cooled down leave when the table is half full, far beyond the number of keys that can be hot at once.
 */
function makeListed(size: number, isHot: (key: string) => boolean) {
  const prints = new Uint32Array(size)
  const names = Array.from<string | undefined>({ length: size })
  let count = 0

  function add(key: string, print: number): void {
    let cell = print & (size - 1)
    for (; names[cell] !== undefined; cell = (cell + 1) & (size - 1)) {
      if (prints[cell] === print) return
    }
    names[cell] = key
    prints[cell] = print
    if (++count > size / 2) keepHot()
  }

  function keepHot(): void {
    const kept = names.flatMap((key, cell) => (key !== undefined && isHot(key) ? [{ key, print: prints[cell] as number }] : []))
    names.fill(undefined)
    count = 0
    for (const { key, print } of kept) add(key, print)
  }

  return {
    add,
    keys(): string[] {
      keepHot()
      return names.filter((key) => key !== undefined)
    },
  }
}
