/** The events of the counter benchmark: a function of their number, so that every process makes the same ones. */
import type { CountEvent, CounterSchemas, Counts } from '../../subgraphs/feed/model/counts.ts'
import { makeCounterSchema } from '../../subgraphs/feed/packed/counter-schema.ts'
import { postIdOf } from '../../subgraphs/feed/packed/post-id.ts'

export const BUSINESS = 4
export const REGIONS = 100
export const BATCH = 500
const NAMES = ['repost', 'comment', 'like', 'read'] as const
export const SCHEMAS: CounterSchemas = new Map([[BUSINESS, makeCounterSchema<string>({ repost: 24, comment: 20, like: 24, read: 32 })]])
/** Stored totals before the run, so that no order of events goes below 0. */
export const BASE: Counts = { repost: 16_700_000, comment: 1_000_000, like: 50_000, read: 4_294_900_000 }

export function postAt(place: number): string {
  return postIdOf(50_000_000_000_000 + place * 3_001, (place * 37) % REGIONS)
}

/** Popular posts get most events: the place of a post is the cube of a random number. One event of eight takes back. */
export function changeAt(number: number, posts: number): { place: number; counter: (typeof NAMES)[number]; delta: number } {
  let bits = Math.imul(number ^ (number >>> 15), 0x85ebca6b) >>> 0
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35) >>> 0
  bits = (bits ^ (bits >>> 16)) >>> 0
  return {
    place: Math.floor((bits / 2 ** 32) ** 3 * posts),
    counter: NAMES[bits % 4] ?? 'read',
    delta: (bits >>> 2) % 8 === 0 ? -1 : 1 + ((bits >>> 5) % 3),
  }
}

export function eventsOfBatch(batch: number, posts: number): CountEvent[] {
  return Array.from({ length: BATCH }, (_, at) => {
    const number = batch * BATCH + at
    const { place, counter, delta } = changeAt(number, posts)
    return { id: `event-${number}`, subject: { business: BUSINESS, oid: postAt(place) }, counter, delta }
  })
}

/** The totals after all batches, by place. */
export function totalsAfter(batches: number, posts: number): Counts[] {
  const totals = Array.from({ length: posts }, () => {
    const counts: Record<string, number> = { ...BASE }
    return counts
  })
  for (let number = 0; number < batches * BATCH; number++) {
    const { place, counter, delta } = changeAt(number, posts)
    const counts = totals[place] as Record<string, number>
    counts[counter] = (counts[counter] ?? 0) + delta
  }
  return totals
}
