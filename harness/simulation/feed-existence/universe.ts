/**
 * The ids of the simulated worlds: chosen so that no two keys have equal first bits of their hashes, and a filter of theirs answers
 * exactly. A world can therefore check both rules: nothing recorded comes back, and nothing else is hidden.
 */
import assert from 'node:assert/strict'
import type { BusinessNumber, Month } from '../../../core/domain.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'

export const BUSINESSES = [1, 2] as const
export const BUSINESS_NAMES = ['video', 'article'] as const
/** The bits of each hash that the smallest filter keeps, with one record and a single live month. */
const DISTINCT_BITS = 7
const IDS = 14

/** The same ids in both businesses, of all kinds. */
export const OIDS: readonly string[] = chooseIds()

const HASHES = new Map(BUSINESSES.flatMap((business) => OIDS.map((oid) => [keyText(business, oid), hashSeen(business, [oid])] as const)))

export function hashOf(business: BusinessNumber, oid: string): readonly [number, number] {
  const found = HASHES.get(keyText(business, oid))
  assert(found !== undefined, `${business}:${oid} is not of the universe`)
  return [found[0] as number, found[1] as number]
}

export function keyText(business: BusinessNumber, oid: string): string {
  return `${business}:${oid}`
}

function chooseIds(): string[] {
  const taken = new Set<number>()
  const chosen: string[] = []
  for (let number = 1; chosen.length < IDS; number++) {
    const oid = number % 3 === 0 ? `v${number}` : String(number)
    const bits = BUSINESSES.map((business) => (hashSeen(business, [oid])[0] as number) >>> (32 - DISTINCT_BITS))
    if (new Set(bits).size < bits.length || bits.some((each) => taken.has(each))) continue
    for (const each of bits) taken.add(each)
    chosen.push(oid)
  }
  return chosen
}

export function nameOfMonth(month: Month): string {
  return `${1970 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`
}

export function textOf(time: number): string {
  return new Date(time).toISOString()
}
