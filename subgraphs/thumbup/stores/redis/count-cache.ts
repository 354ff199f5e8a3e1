/**
 * The count cache on Redis: counts, newest likers and likes received. Versions keep an older value from replacing a newer one (`keys.ts`
 * describes the keys). All values expire, zeros sooner. A multi-get is one MGET on one server. On a Cluster it is one per region, all in
 * one round trip.
 *
 * Uncounted keys (version 0) stay in the memory of this process. Any client can ask for subjects and owners without marks, and those must
 * not fill a server with acknowledged marks. Redis is read first, so that such a value never hides the count of another process. After a
 * loss of Redis it may, so it expires soon.
 *
 * An error of a part of a Cluster names its subjects as `business:oid`, or its owners.
 */
import type { BusinessNumber, OwnerSum, Subject, SubjectCounts, CountedSubject } from '../../../../core/domain.ts'
import type { CachedLikers, CountCache } from '../count-cache.ts'
import { makeUncounted, type Uncounted, type UncountedOptions } from '../negative-cache.ts'
import { databaseOf, type RedisConnectionOptions } from '../../../../stores/redis/clients.ts'
import { connect, scriptCommand } from '../../../../stores/redis/connection.ts'
import type { Argument, Connection } from '../../../../stores/redis/connection.ts'
import { makeCountFollowing } from './count-following.ts'
import { decodeCounts, decodeLikersVersion, decodeOwnerSum } from './count-values.ts'
import type { OwnerKey } from './count-values.ts'
import { MARK_FORMAT, makeMarkLayout } from './keys.ts'
import type { MarkLayout } from './keys.ts'
import { entriesOf } from './lists.ts'
import { SCRIPTS } from './scripts.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../stores/redis/verification.ts'
import { countNames, makeWalk } from '../../../../stores/redis/walking.ts'
import { compareMarkPlaces } from '../../model/places.ts'
import { COUNTED_MAX } from '../hot-store.ts'

export type RedisCountCacheOptions = RedisConnectionOptions & {
  /** As for the mark store. */
  regions: number
  /** As for the mark store. Default "tm". */
  prefix?: string
  /** Milliseconds that counts, likers and likes received stay. Minimum 1. Default one day. */
  countTtlMs?: number
  /** The same for counts and sums of zero. Minimum 1. Default ten minutes. */
  zeroTtlMs?: number
  /** The same for uncounted keys, in memory. Minimum 1. Default one minute. */
  uncountedTtlMs?: number
  /** Remembered uncounted subjects, and the same number of owners. Minimum 1. Default 50,000. */
  uncountedMax?: number
  /** As for the mark store. Default false. */
  mayBeUnfit?: boolean
}

type Kept = { countTtlMs: number; zeroTtlMs: number; uncounted: UncountedOptions }

const PER_COMMAND = 500

export function openRedisCountCache(options: RedisCountCacheOptions): CountCache {
  const { regions, prefix = 'tm', countTtlMs = 86_400_000, zeroTtlMs = 600_000 } = options
  const { uncountedMax: entriesMax = 50_000, uncountedTtlMs: ttlMs = 60_000 } = options
  const kept = { countTtlMs, zeroTtlMs, uncounted: { entriesMax, ttlMs } }
  checkKeyOptions({ prefix, expireMs: 0 })
  const layout = makeMarkLayout(prefix, regions, databaseOf(options))
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, MARK_FORMAT, options.mayBeUnfit)
  const following = makeCountFollowing(connection, layout)
  const counts = makeCounts(connection, layout, kept)
  const likers = makeLikers(connection, layout, kept)
  const owners = makeOwnerSums(connection, layout, kept)
  return {
    getCountsMany: verify(counts.getCountsMany),
    putCounts: verify(counts.putCounts),
    getLikers: verify(likers.getLikers),
    putLikers: verify(likers.putLikers),
    getOwnerSums: verify(owners.getOwnerSums),
    putOwnerSums: verify(owners.putOwnerSums),
    followCounts: following.followCounts,
    forgetCounts: verify(makeForgetting(connection, layout, [counts.forget, likers.forget, owners.forget])),
    countKept: verify(makeCounting(connection, layout)),
    check: verify(() => checkRegions(connection, layout)),
    async close() {
      following.close()
      connection.close()
    },
  }
}

function makeCounts(connection: Connection, layout: MarkLayout, { countTtlMs, zeroTtlMs, uncounted: options }: Kept) {
  const uncounted = makeUncounted<SubjectCounts>(options)

  /** On one server: a single MGET without sorting. This is the most frequent read. */
  async function getCountsOfOne(subjects: readonly Subject[]): Promise<(SubjectCounts | undefined)[]> {
    const keys: string[] = []
    for (const subject of subjects) keys.push(...layout.keysOfCounts(layout.regionOfSubject(subject), subject))
    const [values] = (await connection.send([{ name: 'mget', args: keys }])) as [(Buffer | null)[]]
    return subjects.map((subject, at) => decodeCounts(values[2 * at], values[2 * at + 1]) ?? uncounted.get(nameOf(subject)))
  }

  return {
    async getCountsMany(subjects: readonly Subject[]): Promise<(SubjectCounts | undefined)[]> {
      if (!connection.isCluster && subjects.length > 0) return getCountsOfOne(subjects)
      const values = await multiGet(connection, subjects, layout.regionOfSubject, (subject, region) => layout.keysOfCounts(region, subject))
      return subjects.map((subject, at) => decodeCounts(values[at]?.[0], values[at]?.[1]) ?? uncounted.get(nameOf(subject)))
    },

    async putCounts(all: readonly CountedSubject[]): Promise<void> {
      for (const subject of all) if (subject.counts.version === 0) uncounted.set(nameOf(subject), subject.counts)
      const counted = all.filter(({ counts }) => counts.version > 0)
      const commands = inLots(counted, layout.regionOfSubject).map(({ region, items }) => {
        const keys = items.flatMap((subject) => layout.keysOfCounts(region, subject))
        const args = items.flatMap((subject): Argument[] => {
          const { likes, dislikes, version } = subject.counts
          return [likes, dislikes, version, likes + dislikes === 0 ? zeroTtlMs : countTtlMs, nameOf(subject)]
        })
        return scriptCommand(SCRIPTS.putCounts, keys, [layout.countsChanged(region), ...args])
      })
      await connection.send(commands)
      for (const subject of counted) uncounted.delete(nameOf(subject))
    },

    forget: uncounted.forget,
  }
}

function makeLikers(connection: Connection, layout: MarkLayout, { countTtlMs, uncounted: options }: Kept) {
  const uncounted = makeUncounted<CachedLikers>(options)
  const keysOf = (subject: Subject): string[] => {
    const region = layout.regionOfSubject(subject)
    return [layout.likers(region, subject), layout.likersVersion(region, subject)]
  }
  return {
    async getLikers(subject: Subject): Promise<CachedLikers | undefined> {
      const [answer] = (await connection.send([scriptCommand(SCRIPTS.getLikers, keysOf(subject), [])])) as [[Buffer, Buffer[]] | null]
      if (answer === null) return uncounted.get(nameOf(subject))
      const [version, values] = answer
      return { ...decodeLikersVersion(version), entries: entriesOf(values).sort(compareMarkPlaces) }
    },

    async putLikers(subject: Subject, likers: CachedLikers): Promise<void> {
      const { version, whole, entries } = likers
      if (version === 0 && entries.length === 0) return uncounted.set(nameOf(subject), likers)
      const members = entries.flatMap(({ id, markedAt }): Argument[] => [markedAt, id])
      const args = [version, whole ? 1 : 0, countTtlMs, ...members]
      await connection.send([scriptCommand(SCRIPTS.putLikers, keysOf(subject), args)])
      uncounted.delete(nameOf(subject))
    },

    forget: uncounted.forget,
  }
}

function makeOwnerSums(connection: Connection, layout: MarkLayout, { countTtlMs, zeroTtlMs, uncounted: options }: Kept) {
  const uncounted = makeUncounted<Pick<OwnerSum, 'likes' | 'version'>>(options)
  const nameOfOwner = ({ business, owner }: OwnerKey): string => nameOf({ business, oid: owner })
  const regionOf = ({ owner }: OwnerKey): number => layout.regionOf(owner)
  return {
    async getOwnerSums(owners: readonly OwnerKey[]): Promise<(Pick<OwnerSum, 'likes' | 'version'> | undefined)[]> {
      const values = await multiGet(connection, owners, regionOf, ({ business, owner }, region) => [layout.owner(region, business, owner)])
      return owners.map((owner, at) => decodeOwnerSum(values[at]?.[0]) ?? uncounted.get(nameOfOwner(owner)))
    },

    async putOwnerSums(all: readonly OwnerSum[]): Promise<void> {
      for (const sum of all) if (sum.version === 0) uncounted.set(nameOfOwner(sum), { likes: sum.likes, version: 0 })
      const sums = all.filter(({ version }) => version > 0)
      const commands = inLots(sums, regionOf).map(({ region, items }) => {
        const keys = items.map(({ business, owner }) => layout.owner(region, business, owner))
        const args = items.flatMap(({ likes, version }) => [likes, version, likes === 0 ? zeroTtlMs : countTtlMs])
        return scriptCommand(SCRIPTS.putOwnerSums, keys, args)
      })
      await connection.send(commands)
      for (const sum of sums) uncounted.delete(nameOfOwner(sum))
    },

    forget: uncounted.forget,
  }
}

function makeForgetting(connection: Connection, layout: MarkLayout, uncounted: readonly Uncounted<unknown>['forget'][]) {
  let forgetting: { business: BusinessNumber; walk: ReturnType<typeof makeWalk> } | undefined
  return async (business: BusinessNumber, limit: number): Promise<number> => {
    // Values in memory are forgotten at once.
    for (const forget of uncounted) forget(`${business}:`, Infinity)
    if (forgetting?.business !== business) forgetting = { business, walk: makeWalk(connection) }
    return forgetting.walk(layout.cachePattern(business), limit, async (keys, room) => {
      const cached = keys.filter((key) => layout.cachedBusinessOf(key) === business).slice(0, room)
      const commands = inLots(cached, (key) => layout.regionOfKey(key) ?? 0)
      const went = (await connection.send(commands.map(({ items }) => ({ name: 'unlink', args: items })))) as number[]
      return went.reduce((sum, count) => sum + count, 0)
    })
  }
}

function makeCounting(connection: Connection, layout: MarkLayout) {
  return (business: BusinessNumber): Promise<number> =>
    countNames(connection, layout.cachePattern(business), COUNTED_MAX, (key) =>
      layout.cachedBusinessOf(key) === business ? key : undefined,
    )
}

function nameOf({ business, oid }: Subject): string {
  return `${business}:${oid}`
}

/** The values of each item's keys. */
async function multiGet<T>(
  connection: Connection,
  items: readonly T[],
  regionOf: (item: T) => number,
  keysOf: (item: T, region: number) => string[],
): Promise<(Buffer | null)[][]> {
  const found: (Buffer | null)[][] = items.map(() => [])
  const lots = new Map<number, { keys: string[]; takers: ((value: Buffer | null) => void)[] }>()
  items.forEach((item, at) => {
    const region = regionOf(item)
    // Only a Cluster rejects a command with keys of several slots.
    const name = connection.isCluster ? region : 0
    let lot = lots.get(name)
    if (lot === undefined) lots.set(name, (lot = { keys: [], takers: [] }))
    for (const key of keysOf(item, region)) {
      lot.keys.push(key)
      lot.takers.push((value) => found[at]?.push(value))
    }
  })
  const all = [...lots.values()]
  const answers = (await connection.send(all.map(({ keys }) => ({ name: 'mget', args: keys })))) as (Buffer | null)[][]
  all.forEach(({ takers }, lot) => takers.forEach((take, at) => take(answers[lot]?.[at] ?? null)))
  return found
}

function inLots<T>(items: readonly T[], regionOf: (item: T) => number): { region: number; items: T[] }[] {
  const lots: { region: number; items: T[] }[] = []
  const open = new Map<number, T[]>()
  for (const item of items) {
    const region = regionOf(item)
    let lot = open.get(region)
    if (lot === undefined || lot.length >= PER_COMMAND) {
      lot = []
      open.set(region, lot)
      lots.push({ region, items: lot })
    }
    lot.push(item)
  }
  return lots
}
