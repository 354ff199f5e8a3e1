/** The identity of a count event in 8 bytes, as hot stores remember it. */
import { hash } from 'node:crypto'
import type { CountEvent } from '../model/counts.ts'

export const EVENT_HASH_BYTES = 8

/** The first bits of SHA-1: of 10 million events, two have the same ones with a probability of 1 to 300,000. */
export function hashOfEvent({ id, subject: { business, oid }, counter }: CountEvent): Buffer {
  return hash('sha1', `${business}:${counter}:${oid.length}:${oid}:${id}`, 'buffer').subarray(0, EVENT_HASH_BYTES)
}
