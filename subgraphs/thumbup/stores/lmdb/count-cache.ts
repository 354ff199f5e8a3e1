/**
 * The count cache on LMDB: a table that all processes of the data folder share, so that one count serves all. Each put is one transaction
 * that checks the versions it replaces. Listeners learn of changed counts once these are on disk: in this process directly, in the others
 * through the relay.
 *
 * Uncounted subjects (version 0) are remembered in memory alone, in a bounded number: any client can ask for subjects without marks, and they
 * would fill the disk. The table is read first, so that such an entry never hides the count of another process. If the file is full, the
 * port's calls fail with STORE_FULL, as in all embedded stores.
 */
import type { CountCache } from '../count-cache.ts'
import { makeUncounted } from '../negative-cache.ts'
import { makeChanges, type CountRelay } from '../../../../stores/lmdb/changes.ts'
import {
  COUNTS,
  LIKERS,
  OWNERS,
  cacheKey,
  cacheRange,
  decodeCounts,
  decodeLikers,
  decodeOwnerSum,
  encodeCounts,
  encodeLikers,
  encodeOwnerSum,
  versionOfEntry,
} from './count-values.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import type { CountedSubject } from '../../../../core/domain.ts'

export type LmdbCountCacheOptions = {
  /** Tells the processes that share the environment of counts that changed. Default: none, for one process. */
  relay?: CountRelay
  /** Remembered uncounted keys. Minimum 1. Default 100,000. */
  uncountedMax?: number
}

const UNCOUNTED_MAX = 100_000
/** A listener gets all changes and filters them itself: keeping subjects here as well would double their memory. */
const ALL = ''

type Entry = { key: Buffer; value: Buffer }

/** The environment stays open when the cache is closed: others may use it. */
export function openLmdbCountCache(environment: Environment, options: LmdbCountCacheOptions = {}): CountCache {
  const table = environment.table('count-cache')
  const uncounted = makeUncounted<Buffer>({ entriesMax: options.uncountedMax ?? UNCOUNTED_MAX })
  const changes = makeChanges<CountedSubject>(options.relay, () => ALL)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)

  const reading = <T>(keys: readonly Buffer[], decode: (value: Buffer, length: number) => T): Promise<(T | undefined)[]> =>
    calling(() =>
      environment.read(() =>
        keys.map((key) => {
          const value = table.getBinaryFast(key) ?? uncounted.get(nameOf(key))
          return value === undefined ? undefined : decode(value, value.length)
        }),
      ),
    )

  /** Returns for each entry whether it is newer than the old one. */
  async function putAll(entries: readonly Entry[]): Promise<boolean[]> {
    const counted = entries.map(({ value }) => versionOfEntry(value) > 0)
    for (const [index, entry] of entries.entries()) if (counted[index] === false) uncounted.set(nameOf(entry.key), entry.value)
    if (!counted.includes(true)) return counted
    const newer = await calling(() =>
      environment.write(() => entries.map((entry, index) => counted[index] === true && putUnlessOlder(table, entry))),
    )
    for (const [index, { key }] of entries.entries()) if (counted[index] === true) uncounted.delete(nameOf(key))
    return newer
  }

  return {
    getCountsMany: (subjects) =>
      reading(
        subjects.map(({ business, oid }) => cacheKey(COUNTS, business, oid)),
        decodeCounts,
      ),
    async putCounts(counted) {
      const newer = await putAll(
        counted.map(({ business, oid, counts }) => ({ key: cacheKey(COUNTS, business, oid), value: encodeCounts(counts) })),
      )
      for (const [index, { business, oid, counts }] of counted.entries()) {
        if (newer[index] === true && changes.wanted(ALL)) changes.publish({ business, oid, counts })
      }
    },

    async getLikers({ business, oid }) {
      const [likers] = await reading([cacheKey(LIKERS, business, oid)], decodeLikers)
      return likers
    },
    async putLikers({ business, oid }, likers) {
      await putAll([{ key: cacheKey(LIKERS, business, oid), value: encodeLikers(likers) }])
    },

    getOwnerSums: (owners) =>
      reading(
        owners.map(({ business, owner }) => cacheKey(OWNERS, business, owner)),
        decodeOwnerSum,
      ),
    async putOwnerSums(sums) {
      await putAll(sums.map((sum) => ({ key: cacheKey(OWNERS, sum.business, sum.owner), value: encodeOwnerSum(sum) })))
    },

    followCounts: (listener) => ({ add: () => Promise.resolve(), remove() {}, stop: changes.follow(ALL, listener) }),

    async forgetCounts(business, limit) {
      const { start, end } = cacheRange(business)
      const forgotten = uncounted.forget(nameOf(start.subarray(0, 2)), limit)
      if (forgotten >= limit) return forgotten
      const keys = await calling(() => environment.read(() => [...table.getKeys({ start, end, limit: limit - forgotten })]))
      if (keys.length > 0) await calling(() => environment.writeToFree(() => keys.forEach((key) => void table.remove(key))))
      return forgotten + keys.length
    },

    countKept: (business) => calling(() => environment.read(() => table.getKeysCount(cacheRange(business)))),

    check: () => calling(() => environment.read(() => undefined)),
    close() {
      changes.close()
      return Promise.resolve()
    },
  }
}

/** True if there was no entry, or an older one. Of equal versions the later arrival stays, without a report to followers. */
function putUnlessOlder(table: Bytes, { key, value }: Entry): boolean {
  const cached = table.getBinaryFast(key)
  const [before, version] = [cached === undefined ? -1 : versionOfEntry(cached), versionOfEntry(value)]
  if (before > version || (cached !== undefined && value.equals(cached.subarray(0, cached.length)))) return false
  void table.put(key, value)
  return before < version
}

/** One character per byte, so that prefixes of keys are prefixes of names. */
function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
