/** Filters for tests. To a store they are bytes, so any bytes will do. */
import type { FilterKey, FilterWrite, SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { freshViewer } from '../reports.ts'

export const MONTH = 680
export const DAY_MS = 86_400_000
/** The default expiry of filters in tests. */
export const EXPIRES_AT = 20_000 * DAY_MS

export function filterWrite(viewer: string, filter: Buffer, fields: Partial<FilterWrite> = {}): FilterWrite {
  return { viewer, month: MONTH, filter, expected: 0, expiresAt: EXPIRES_AT, ...fields }
}

export function filterKey(viewer: string, month = MONTH): FilterKey {
  return { viewer, month }
}

export function freshViewers(count: number): string[] {
  return Array.from({ length: count }, freshViewer)
}

/** Bytes that depend on the position and the seed. */
export function someBytes(length: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let i = 0, state = (seed * 2_654_435_761) >>> 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

/** Purges until nothing is removed. Returns the number of removed filters per call. */
export async function purgeAll(store: SeenRecords, expiredBefore: number, limit: number): Promise<number[]> {
  const went: number[] = []
  for (;;) {
    const some = await store.purgeExpired(expiredBefore, limit)
    if (some === 0) return went
    went.push(some)
  }
}

/** Encodes a set of numbers below 2^32 as bytes. `numbersOf` decodes it. */
export function setBytes(numbers: Iterable<number>): Buffer {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const bytes = Buffer.allocUnsafe(sorted.length * 4)
  sorted.forEach((number, at) => bytes.writeUInt32BE(number, at * 4))
  return bytes
}

export function numbersOf(bytes: Buffer | undefined): number[] {
  return Array.from({ length: (bytes?.length ?? 0) / 4 }, (_, at) => (bytes as Buffer).readUInt32BE(at * 4))
}
