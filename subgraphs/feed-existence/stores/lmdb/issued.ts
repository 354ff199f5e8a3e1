/**
 * What viewers were served, on LMDB: a list per viewer and business in the table of what was seen, and a table by time
 * that tells which lists may have come to their end:
 *
 *     ms (6 bytes) · key of the list      nothing
 *
 * Each list stands there once, under a moment at or before that at which its viewer was served last. It is not moved when he is
 * served again, or each call would write a page more: the purge moves it, when it comes to it and finds something younger. So a
 * purge costs what has come to its end, and each other list one look per time to live, however many there are.
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { issuedAtOf, momentOf, newestFirst } from '../issued-moments.ts'
import type { IssuedOptions } from '../hot-store.ts'
import type { Bytes } from '../../../../stores/lmdb/environment.ts'
import { issuedKey, makePlace, type SeenPlace } from './keys.ts'
import { decodeIssued, encodeIssued, encodeTime, newestMoment, type IssuedMoment } from './values.ts'

/** `seen`: viewer by viewer, `keys.ts`. `served`: by time. */
export type IssuedTables = { seen: Bytes; served: Bytes }

const TIME_BYTES = 6
const NOTHING = Buffer.allocUnsafeSlow(0)
/** Lists of one transaction: while it runs others wait for the writer's lock, and a process for its turn. */
const PURGED_PER_WRITE = 200

/** Within a transaction. */
export function noteIssued(
  { seen, served }: IssuedTables,
  viewer: ViewerId,
  business: BusinessNumber,
  oids: readonly string[],
  { now, cap, minAgeMs, hardCap, ttlMs }: IssuedOptions,
): void {
  const place = makePlace(viewer)
  const held = readIssued(seen, place, business)
  const isOver = held[0] !== undefined && issuedAtOf(held[0].moment) < now - ttlMs
  const moments = new Map(isOver ? [] : held.map(({ oid, moment }) => [oid, moment]))
  for (const [at, oid] of oids.entries()) moments.set(oid, Math.max(momentOf(now, at, oids.length), moments.get(oid) ?? 0))
  const issued = Array.from(moments, ([oid, moment]) => ({ oid, moment })).sort(newestFirst)
  const kept = issued.filter(({ moment }, rank) => rank < cap || (rank < hardCap && issuedAtOf(moment) > now - minAgeMs))
  const key = issuedKey(place, business)
  void seen.put(key, encodeIssued(kept))
  if (held.length === 0) void served.put(servedKey(now, key), NOTHING)
}

/** Newest first. */
export function readIssued(seen: Bytes, place: SeenPlace, business: BusinessNumber): IssuedMoment[] {
  const value = seen.getBinaryFast(issuedKey(place, business))
  return value === undefined ? [] : decodeIssued(value, value.length)
}

/** Within a transaction: `purgeIssued` of the port. */
export function purgeIssued({ seen, served }: IssuedTables, servedBefore: number, limit: number): number {
  if (limit <= 0 || servedBefore <= 0) return 0
  const found = [...served.getKeys({ end: encodeTime(servedBefore), limit: Math.min(limit, PURGED_PER_WRITE) })]
  for (const entry of found) {
    const key = entry.subarray(TIME_BYTES)
    const list = seen.getBinaryFast(key)
    void served.remove(entry)
    if (list === undefined) continue
    const servedAt = issuedAtOf(newestMoment(list))
    if (servedAt < servedBefore) void seen.remove(key)
    else void served.put(servedKey(servedAt, key), NOTHING)
  }
  return found.length
}

function servedKey(servedAt: number, key: Buffer): Buffer {
  return Buffer.concat([encodeTime(servedAt), key])
}
