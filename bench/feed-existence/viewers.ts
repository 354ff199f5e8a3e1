/**
 * Viewers for the benchmarks of feed existence: a number of records with 25-byte ids, spread over the four live months. Three months are
 * closed, and the last one is open. Filters are made as the job makes them, a fold at a time.
 */
import { addToFilter, rateOfEach } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen, type SeenHashes } from '../../subgraphs/feed-existence/filter/hash.ts'
import { quantileOf } from '../support/quantile.ts'

export const BUSINESS = 1
export const MONTHS = 4
/** The false-positive rate of all live filters together. */
export const BUDGET = 0.01
export const RATE = rateOfEach(BUDGET, MONTHS)
export const ID_BYTES = 25
/** The viewer of the requirements: 10,000 records, 50 million times. */
export const RECORDS_OF_SOURCES = 10_000
export const VIEWERS_OF_SOURCES = 50e6

/** Unique names of 25 bytes. */
export function idAt(index: number): string {
  return `BV${String(index).padStart(ID_BYTES - 2, 'x')}`
}

const NONE: SeenHashes = new Uint32Array(0)

/** The filters of a month after each fold. The last one is the closed filter if the month is over. */
export function growMonth(ids: readonly string[], folds: number, isOver: boolean): Buffer[] {
  const size = Math.max(1, Math.ceil(ids.length / folds))
  const states: Buffer[] = []
  for (let at = 0; at < ids.length; at += size) {
    states.push(addToFilter(states.at(-1), hashSeen(BUSINESS, ids.slice(at, at + size)), { rate: RATE }))
  }
  if (isOver) states.push(addToFilter(states.at(-1), NONE, { rate: RATE, recordsMax: 0 }))
  return states
}

export type MadeViewer = {
  name: string
  ids: string[]
  /** The filters of each month after each fold, the newest month first. */
  months: Buffer[][]
}

/** Two viewers have no id in common. */
export function makeViewer(number: number, records: number, folds = 8): MadeViewer {
  const ids = Array.from({ length: records }, (_, index) => idAt(number * 1_000_000 + index))
  const size = Math.ceil(records / MONTHS)
  const months = Array.from({ length: MONTHS }, (_, back) => growMonth(ids.slice(back * size, (back + 1) * size), folds, back > 0))
  return { name: String(1_000_000 + number), ids, months }
}

export function lastOf(states: readonly Buffer[]): Buffer {
  return states.at(-1) as Buffer
}

/** Calls with this many candidates. One in twenty was played, and no two calls are equal. The strings are fresh, as after a JSON parse. */
export function candidatesOf(viewer: MadeViewer, call: number, count: number): string[] {
  const fresh = 500_000_000_000 + call * count
  const ids = Array.from({ length: count }, (_, index) =>
    index % 20 === 7 ? (viewer.ids[(index * 31 + call) % viewer.ids.length] as string) : idAt(fresh + index),
  )
  return JSON.parse(JSON.stringify(ids)) as string[]
}

export type Timings = { p50Ms: number; p99Ms: number; calls: number }

export function timingsOf(samples: readonly number[]): Timings {
  const sorted = samples.toSorted((a, b) => a - b)
  return { p50Ms: quantileOf(sorted, 0.5), p99Ms: quantileOf(sorted, 0.99), calls: sorted.length }
}
