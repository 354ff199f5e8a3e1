/**
 * Checks the servers of the distributed shape, and the nodes of the cache. `tidemark doctor` runs it once; every process runs it at its start and then every minute
 * (cli/process/store-watch.ts).
 */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { UNAVAILABLE, type AnyStoreName } from '../../core/outage/degraded.ts'
import { isTidemarkError } from '../../core/errors.ts'
import { examineKafka } from '../../stores/kafka/examine.ts'
import { MYSQL_FINDINGS, checkMysql } from '../../stores/mysql/doctor.ts'
import { checkSchema } from '../../stores/mysql/schema-version.ts'
import { cacheExaminations } from './examine-cache.ts'
import type { Examination, Finding } from './findings.ts'
import { redisSettingOf } from './thumbup.ts'
import { openLegacy } from './distributed/legacy.ts'
import { checkRedis } from '../../stores/redis/check.ts'
import { RedisRefusal } from '../../stores/redis/failures.ts'
import { allServersOf, ofTenant, withDatabase, type ServersOf } from './server-sets.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'

/** Checks every server. A server that cannot be reached is a finding, not an error. */
export async function examineStores(config: Config, clock: Clock, logger: StoreLogger): Promise<Finding[]> {
  const examined = await Promise.all([...examinationsOf(config, clock, logger).map((each) => each.examine()), examineLegacy(config, clock)])
  return examined.flat()
}

/** Checks each server separately, so that an unreachable server delays no other. Empty on the embedded stores without nodes of the cache. */
export function examinationsOf(config: Config, clock: Clock, logger: StoreLogger): Examination[] {
  const ofStores = allServersOf(config).flatMap((servers) => {
    const { business } = servers
    return examinationsOfSet(config, clock, logger, servers).map(({ store, examine: look }) => ({
      store,
      ...(business !== undefined && { business }),
      async examine() {
        const findings = await look()
        if (business === undefined) return findings
        return findings.map((finding) => ({ ...finding, business, sentence: `${business}: ${finding.sentence}` }))
      },
    }))
  })
  return [...ofStores, ...cacheExaminations(config, clock)]
}

/** The store that viewers are migrated from, if any. */
async function examineLegacy(config: Config, clock: Clock): Promise<Finding[]> {
  const legacy = openLegacy(config, clock)
  const [business] = config.businesses
  if (legacy === undefined || business === undefined) return []
  try {
    const tls = config.existence.legacy?.tls !== undefined
    // The check makes a call that readers make: the Redis must support its commands as well.
    return await examine('legacyStore', tls, async () => {
      await legacy.getPlayedAt('0', business.number, ['0'])
      return []
    })
  } finally {
    await legacy.close()
  }
}

function examinationsOfSet(config: Config, clock: Clock, logger: StoreLogger, servers: ServersOf): Examination[] {
  const { business, redis, kafka, mysql } = servers
  const setting = redisSettingOf(business)
  const second = redis?.second
  const examinations: Examination[] = []
  if (redis !== undefined) {
    examinations.push({ store: 'hotStore', examine: () => examineRedis({ ...redis, setting }, clock) })
  }
  if (second !== undefined) {
    const copies = async () =>
      (await examineRedis({ ...second, setting: `${setting}.second` }, clock)).map((finding) => ({ ...finding, isCopy: true }))
    examinations.push({ store: 'hotStore', examine: copies })
  }
  const examineLog = async (): Promise<Omit<Finding, 'store'>[]> => [
    ...(await examineKafka(kafkaConnection(kafka), { ...kafka, ...ofTenant(business), progress: config.history.progressTopic }, logger)),
    ...(business === undefined ? morePartitionsThanRegions(config, kafka.partitions) : []),
  ]
  examinations.push({ store: 'log', examine: () => examine('log', kafka.tls !== undefined, examineLog) })
  if (mysql !== undefined) examinations.push({ store: 'recordStore', examine: () => examineMysql(mysql, config, clock) })
  return examinations
}

function examineRedis(redis: Omit<Distributed['redis'], 'second'> & { setting: string }, clock: Clock): Promise<Finding[]> {
  return examine('hotStore', redis.tls !== undefined || redis.urls.some((url) => url.startsWith('rediss:')), async () => {
    const findings = await checkRedis(redis, () => clock.now())
    return findings.map(({ severity, name, node, sentence }) => ({
      name,
      level: severity === 'wrong' ? 'wrong' : 'doubtful',
      sentence: `${node}: ${sentence}`,
    }))
  })
}

function examineMysql(mysql: Distributed['mysql'], { stores, thumbup }: Config, clock: Clock): Promise<Finding[]> {
  return examine('recordStore', mysql.tls !== undefined, () =>
    withDatabase(clock, mysql, async (database) => {
      const findings = await checkMysql(database, clock, thumbup.changes.feed === 'binlog')
      await checkSchema(database, stores.regions)
      return findings.map(({ level, subject, sentence }) => ({ level, name: MYSQL_FINDINGS[subject], sentence }))
    }),
  )
}

function morePartitionsThanRegions(config: Config, partitions: number): Omit<Finding, 'store'>[] {
  const { regions } = config.stores
  if (partitions <= regions) return []
  return [
    {
      level: 'doubtful',
      name: 'kafka-partitions',
      sentence: `${partitions} partitions are more than the ${regions} regions, so some stay empty: set stores.kafka.partitions to at most ${regions}`,
    },
  ]
}

async function examine(store: AnyStoreName, tls: boolean, look: () => Promise<Omit<Finding, 'store'>[]>): Promise<Finding[]> {
  try {
    const findings = await look()
    if (findings.every(({ level }) => level === 'good')) return [{ store, level: 'good', sentence: 'is fit' }]
    return findings.filter(({ level }) => level !== 'good').map((finding) => ({ store, ...finding }))
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const isDown = error.code === UNAVAILABLE[store]
    const name = isDown && !(error instanceof RedisRefusal) ? 'unreachable' : 'unfit'
    return [
      { store, name, level: 'wrong', sentence: `${error.message}${tls && isDown && !error.message.includes('TLS') ? MAYBE_TLS : ''}` },
    ]
  }
}

/** A server without TLS usually closes the connection, or waits for more. */
const MAYBE_TLS = '; tls is set: if the server runs, it probably has no TLS at this address, or its certificate does not match'
