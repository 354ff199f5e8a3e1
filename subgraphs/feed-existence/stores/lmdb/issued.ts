/**
 * Issued subjects on LMDB. The seen table has a list per viewer and business. A table by time has the lists that may have expired:
 *
 *     ms (6 bytes) · key of the list      nothing
 *
 * Each list has one entry there, at or before the time its viewer was last served. Serving the viewer again does not move the entry, since
 * each call would then write one more page. The purge moves it if it finds a newer time in the list. A purge therefore costs its expired
 * lists, and every other list is examined once per time to live.
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { issuedAtOf, momentOf, newestFirst } from '../issued-moments.ts'
import type { IssuedOptions } from '../hot-store.ts'
import type { Bytes } from '../../../../stores/lmdb/environment.ts'
import { issuedKey, makePlace, type SeenPlace } from './keys.ts'
import { decodeIssued, encodeIssued, encodeTime, newestMoment, type IssuedMoment } from './values.ts'

/** `seen`: by viewer, `keys.ts`. `served`: by time. */
export type IssuedTables = { seen: Bytes; served: Bytes }

const TIME_BYTES = 6
const NOTHING = Buffer.allocUnsafeSlow(0)
/** Lists per transaction. Meanwhile other writers wait for the lock, and the process for its event loop. */
const PURGED_PER_WRITE = 200

/** To be called in a transaction. */
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

/** `purgeIssued` of the port, to be called in a transaction. */
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
