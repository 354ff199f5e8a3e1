/** The sketch of hot keys on a simulated clock: nanoseconds per addition, time to detect, and the accuracy of its list. */
import { makeHotKeys, type HotKeys } from '../../../loaders/lookup/hot-keys.ts'
import { seededRandom } from '../../../core/random.ts'
import { systemClock } from '../../../core/clock.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import type { Measure } from '../../support/report.ts'
import { cpuMs } from './cpu.ts'
import { makeZipf } from '../../../harness/samples/zipf.ts'
import { zipfStream } from './streams.ts'

const KEYS = 1_000_000
const READS_PER_MS = 20
const WINDOW_MS = 1_000

export function sketchMeasures(quick: boolean): Measure[] {
  return [
    ...speed(quick ? 6 : 10),
    ...detection(quick ? 20 : 100),
    ...[0.8, 1, 1.2].flatMap((exponent) => accuracy(exponent, quick ? 5 : 20)),
  ]
}

/** Rounds of a million additions, in turn with an exact, unbounded Map. The best round counts, because other work only adds time. */
function speed(rounds: number): Measure[] {
  const stream = zipfStream(seededRandom(1), 1_000_000, KEYS, 1)
  const texts = Array.from(stream, (key) => `1:${1_000_000_000 + key}`)
  const keys = makeHotKeys(systemClock, seededRandom(2))
  const counts = new Map<string, number>()
  const best = { add: Infinity, isHot: Infinity, map: Infinity }
  for (let round = 0; round < rounds; round++) {
    const begun = cpuMs()
    for (const text of texts) keys.add(text)
    const added = cpuMs()
    for (const text of texts) keys.isHot(text)
    const asked = cpuMs()
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
    const ended = cpuMs()
    best.add = Math.min(best.add, added - begun)
    best.isHot = Math.min(best.isHot, asked - added)
    best.map = Math.min(best.map, ended - asked)
    counts.clear()
  }
  return [
    { metric: 'sketch: an addition', value: best.add, unit: 'ns CPU', target: 100, atMost: true },
    { metric: 'sketch: an addition : one to a Map', value: best.add / best.map, unit: 'ratio', target: 1, atMost: true },
    { metric: 'sketch: isHot', value: best.isHot, unit: 'ns CPU' },
  ]
}

/** Half of 20,000 reads a second goes to one subject for a while. The burst begins at another moment in each round. */
function detection(rounds: number): Measure[] {
  const found: number[] = []
  const forgotten: number[] = []
  for (let round = 0; round < rounds; round++) {
    const clock = makeSteppedClock()
    const random = seededRandom(round + 1)
    const keys = makeHotKeys(clock, random, { windowMs: WINDOW_MS })
    const next = makeZipf(random, 100_000, 0.8)
    const read = (ms: number, isBurst: boolean, until: () => boolean): number => {
      for (let passed = 0; passed < ms; passed++, clock.advance(1)) {
        for (let i = 0; i < READS_PER_MS; i++) keys.add(isBurst && random() < 0.5 ? 'burst' : `subject ${next()}`)
        if (until()) return passed + 1
      }
      return ms
    }
    read(1_000 + Math.floor(random() * 1_000), false, () => false)
    found.push(read(5_000, true, () => keys.isHot('burst')))
    read(2_000, true, () => false)
    forgotten.push(read(5_000, false, () => !keys.isHot('burst')))
  }
  return [
    { metric: 'sketch: half of 20,000 reads/s detected, median', value: median(found), unit: 'ms' },
    { metric: 'sketch: half of 20,000 reads/s detected, slowest', value: Math.max(...found), unit: 'ms', target: 1_000, atMost: true },
    { metric: 'sketch: forgotten after its end, slowest', value: Math.max(...forgotten), unit: 'ms', target: 2 * WINDOW_MS, atMost: true },
  ]
}

/** Compared with the exact count of the last second, not of the panes, so the figures include the error of weighing the panes. */
function accuracy(exponent: number, rounds: number): Measure[] {
  const counts = { hot: 0, found: 0, right: 0 }
  for (let round = 0; round < rounds; round++) {
    const clock = makeSteppedClock()
    const random = seededRandom(100 + round)
    const keys = makeHotKeys(clock, random, { windowMs: WINDOW_MS })
    const reads = 2_000 * READS_PER_MS + Math.floor(random() * WINDOW_MS) * READS_PER_MS
    const stream = zipfStream(random, reads, KEYS, exponent)
    stream.forEach((key, at) => {
      if (at % READS_PER_MS === 0) clock.advance(1)
      keys.add(String(key))
    })
    compare(stream.subarray(-WINDOW_MS * READS_PER_MS), keys, counts)
  }
  const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole)
  return [
    { metric: `sketch: Zipf(${exponent}), hot keys a window`, value: counts.hot / rounds, unit: 'keys' },
    { metric: `sketch: Zipf(${exponent}), recall`, value: share(counts.right, counts.hot), unit: 'ratio' },
    { metric: `sketch: Zipf(${exponent}), precision`, value: share(counts.right, counts.found), unit: 'ratio' },
  ]
}

function compare(window: Uint32Array, keys: HotKeys, counts: { hot: number; found: number; right: number }): void {
  const exact = new Map<number, number>()
  for (const key of window) exact.set(key, (exact.get(key) ?? 0) + 1)
  const hot = new Set([...exact].filter(([, count]) => count >= 0.01 * window.length).map(([key]) => String(key)))
  const found = keys.list().map((each) => each.key)
  counts.hot += hot.size
  counts.found += found.length
  counts.right += found.filter((key) => hot.has(key)).length
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
