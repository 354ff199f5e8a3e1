/**
 * The hot store of counters on Redis 7 or later, or Valkey: a single server or a Cluster. `keys.ts` has the keys, `blocks.ts` the blocks.
 * Opening connects in the background and never fails, as in history's `hot-store.ts`.
 */
import type { Subject } from '../../../../../core/domain.ts'
import type { RedisConnectionOptions } from '../../../../../stores/redis/clients.ts'
import { connect, scriptCommand } from '../../../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../../../stores/redis/grouping.ts'
import { packGroup, unpackGroup } from '../../../../../stores/redis/packing.ts'
import { countMembers, listMembers } from '../../../../../stores/redis/region-sets.ts'
import { checkKeyOptions, checkRegions, makeVerification, outageOf } from '../../../../../stores/redis/verification.ts'
import type { CounterSchemas } from '../../../model/counts.ts'
import { REMEMBER_MS, type CounterStore, type DirtyCounts } from '../../counter-store.ts'
import { COUNTER_FORMAT, makeCounterLayout } from './keys.ts'
import { makeCounterReading } from './reading.ts'
import { SCRIPTS } from './scripts.ts'
import { makeSizes } from './sizes.ts'
import { makeAdjusting } from './adjusting.ts'
import { makeFilling } from './filling.ts'

export type RedisCounterStoreOptions = RedisConnectionOptions & {
  /** Shards of viewers: 1 to 16384, fixed for the life of a deployment. */
  regions: number
  /** The prefix of all keys. It may be that of history. No braces. Default "tm". */
  prefix?: string
  /** Milliseconds for which an event is remembered at least. Default one hour. */
  rememberMs?: number
}

const MARKS_PER_SCRIPT = 500

export function openRedisCounterStore(schemas: CounterSchemas, options: RedisCounterStoreOptions): CounterStore {
  const { regions, prefix = 'tm', rememberMs = REMEMBER_MS } = options
  checkKeyOptions({ prefix, expireMs: 0 })
  const layout = makeCounterLayout(prefix, regions)
  const connection = connect(options, (error, keys) => outageOf(layout, error, keys))
  const verify = makeVerification(connection, layout, COUNTER_FORMAT)
  const sizes = makeSizes(connection, layout, schemas)
  const { getMany } = makeCounterReading(connection, layout, sizes)
  const adjust = makeAdjusting(connection, layout, sizes, rememberMs)
  const fillTotals = makeFilling(connection, layout, sizes)
  const marksOf = <T extends { subject: Subject }>(items: readonly T[]) =>
    groupByRegion(items, ({ subject: { business, oid } }) => ({ viewer: oid, business }), layout.regionOf, MARKS_PER_SCRIPT)

  /** First the versions, then the totals: the totals have at least the changes up to their version. */
  async function readDirty(subjects: readonly Subject[]): Promise<(DirtyCounts | undefined)[]> {
    const versions: (number | undefined)[] = Array.from({ length: subjects.length })
    const batches = marksOf(subjects.map((subject) => ({ subject })))
    const answers = (await connection.send(
      batches.map(({ region, items }) => ({
        name: 'hmget',
        args: [layout.versions(region), ...items.map(({ item }) => memberOf(item.subject))],
      })),
    )) as (Buffer | null)[][]
    batches.forEach(({ items }, at) =>
      items.forEach(({ index }, place) => {
        const version = answers[at]?.[place]
        versions[index] = version ? Number(version) : undefined
      }),
    )
    const dirty = subjects.filter((_, at) => versions[at] !== undefined)
    const counts = dirty.length === 0 ? [] : await getMany(dirty)
    let next = 0
    return versions.map((version) => (version === undefined ? undefined : { version, counts: counts[next++] }))
  }

  async function clearDirty(persisted: readonly { subject: Subject; version: number }[]): Promise<void> {
    await connection.send(
      marksOf(persisted).map(({ region, items }) => {
        const args = items.flatMap(({ item }) => [memberOf(item.subject), item.version])
        return scriptCommand(SCRIPTS.clear, [layout.dirty(region), layout.versions(region)], args)
      }),
    )
  }

  return {
    adjust: verify(adjust),
    fillTotals: verify(fillTotals),
    getMany: verify(getMany),
    readDirty: verify(readDirty),
    clearDirty: verify(clearDirty),
    listDirty: verify(async (some: readonly number[], dirtyBefore: number, limit: number) =>
      (await listMembers(connection, layout.dirty, some, dirtyBefore, limit)).map(subjectOf),
    ),
    countDirty: verify(() => countMembers(connection, layout.dirty, layout.regions)),
    check: verify((part?: number) => checkRegions(connection, layout, part)),
    ...(connection.isCluster ? { partOf: layout.regionOf } : {}),
    async close() {
      connection.close()
    },
  }
}

function memberOf({ business, oid }: Subject): Buffer {
  return packGroup(oid, business)
}

function subjectOf(member: Buffer): Subject {
  const { viewer, business } = unpackGroup(member)
  return { business, oid: viewer }
}
