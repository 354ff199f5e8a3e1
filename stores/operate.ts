/**
 * What operators do to the servers of the distributed shape: prepare them, and ask whether they are fit. Beside
 * `open.ts` the only file that names adapters.
 *
 * A business with stores of its own has its database prepared and asked like the others', and its topics: what one of them
 * lacks is said of it, and keeps nobody else from being prepared.
 */
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { UNAVAILABLE, type AnyStoreName } from '../core/degraded.ts'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { tenantTopicPrefix } from '../core/mark-stream.ts'
import { examineKafka } from './kafka/examine.ts'
import { migrateKafka } from './kafka/topics.ts'
import { redisSettingOf, tenantsOf } from './open-marks.ts'
import { openLegacy } from './open-seen.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'
import { openDatabase, type Database } from './mysql/database.ts'
import { checkMysql } from './mysql/doctor.ts'
import { checkSchema, migrateMysql, printMigrations } from './mysql/schema-version.ts'
import { checkRedis } from './redis/check.ts'

export type Finding = {
  store: AnyStoreName
  /** wrong: it fails or loses data. doubtful: look at it. */
  level: 'good' | 'doubtful' | 'wrong'
  /** What was found; unless it is good, also what to do. */
  sentence: string
}

/** Of one set of stores. `business`: whose own they are. */
type ServersOf = {
  business: string | undefined
  redis: Distributed['redis'] | undefined
  kafka: Distributed['kafka']
  mysql: Distributed['mysql'] | undefined
}

export type Migration = {
  /** A sentence per thing done or found. */
  done: string[]
  /** What could not be prepared, of businesses with stores of their own. */
  refused: TidemarkError[]
}

/**
 * Creates tables and topics; may be repeated. Rejects if the common ones cannot be prepared; what is wrong with those of a
 * business keeps no other from being prepared.
 */
export async function migrateStores(config: Config, clock: Clock, logger: StoreLogger): Promise<Migration> {
  const { regions } = config.stores
  const [common, ...tenants] = allServersOf(config)
  const { mysql, kafka } = common as ServersOf
  const migration: Migration = {
    done: [...(await migrateRecords(regions, clock, mysql)), ...(await migrateLog(logger, kafka))],
    refused: [],
  }
  for (const { business, mysql: own, kafka: ownTopics } of tenants) {
    for (const migrate of [() => migrateRecords(regions, clock, own), () => migrateLog(logger, ownTopics, 'marks')]) {
      try {
        migration.done.push(...(await migrate()).map((sentence) => `${business}: ${sentence}`))
      } catch (error) {
        if (!isTidemarkError(error)) throw error
        migration.refused.push(new TidemarkError(error.code, `the stores of business "${business}": ${error.message}`, { cause: error }))
      }
    }
  }
  return migration
}

async function migrateRecords(regions: number, clock: Clock, mysql: Distributed['mysql'] | undefined): Promise<string[]> {
  if (mysql === undefined) return []
  const applied = await withDatabase(clock, mysql, async (database) => {
    const names = await migrateMysql(database, clock)
    await checkSchema(database, regions)
    return names
  })
  return applied.length === 0 ? ['the schema of the record store is up to date'] : applied.map((name) => `applied ${name}`)
}

async function migrateLog(logger: StoreLogger, kafka: Distributed['kafka'], only?: 'marks'): Promise<string[]> {
  const { created, findings } = await migrateKafka(kafkaConnection(kafka), { ...kafka, ...(only && { only }) }, logger)
  return [...(created.length === 0 ? ['all topics exist'] : created.map((topic) => `created topic ${topic}`)), ...findings]
}

/** A tenant's marks have a stream of their own; events of all go to the common topics. */
function ofTenant(business: string | undefined): { only?: 'marks' } {
  return business === undefined ? {} : { only: 'marks' }
}

/** The schema of the record store as SQL. */
export function printSchema(): string {
  return printMigrations()
}

/** Looks at every server; one that cannot be asked is a finding, not an error. */
export async function examineStores(config: Config, clock: Clock, logger: StoreLogger): Promise<Finding[]> {
  const examined = await Promise.all([
    ...allServersOf(config).map(async (servers) => {
      const findings = await examineSet(config, clock, logger, servers)
      return servers.business === undefined
        ? findings
        : findings.map((finding) => ({ ...finding, sentence: `${servers.business}: ${finding.sentence}` }))
    }),
    examineLegacy(config, clock),
  ])
  return examined.flat()
}

/** The store that viewers are moved from, if there is one. */
async function examineLegacy(config: Config, clock: Clock): Promise<Finding[]> {
  const legacy = openLegacy(config, clock)
  const [business] = config.businesses
  if (legacy === undefined || business === undefined) return []
  try {
    const tls = config.existence.legacy?.tls !== undefined
    // One of the calls that readers make: it also needs a Redis that knows them.
    return await examine('legacyStore', tls, async () => {
      await legacy.getPlayedAt('0', business.number, ['0'])
      return []
    })
  } finally {
    await legacy.close()
  }
}

async function examineSet(config: Config, clock: Clock, logger: StoreLogger, servers: ServersOf): Promise<Finding[]> {
  const { business, redis, kafka, mysql } = servers
  const setting = redisSettingOf(business)
  const examined = await Promise.all([
    ...(redis === undefined ? [] : [examineRedis({ ...redis, setting }, clock)]),
    ...(redis?.second === undefined ? [] : [examineRedis({ ...redis.second, setting: `${setting}.second` }, clock)]),
    examine('log', kafka.tls !== undefined, async () => [
      ...(await examineKafka(kafkaConnection(kafka), { ...kafka, ...ofTenant(business) }, logger)),
      ...(business === undefined ? morePartitionsThanRegions(config, kafka.partitions) : []),
    ]),
    ...(mysql === undefined ? [] : [examineMysql(mysql, config, clock)]),
  ])
  return examined.flat()
}

function examineRedis(redis: Omit<Distributed['redis'], 'second'> & { setting: string }, clock: Clock): Promise<Finding[]> {
  return examine('hotStore', redis.tls !== undefined || redis.urls.some((url) => url.startsWith('rediss:')), async () => {
    const findings = await checkRedis(redis, () => clock.now())
    return findings.map(({ severity, node, sentence }) => ({
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
      return findings
    }),
  )
}

function morePartitionsThanRegions(config: Config, partitions: number): Omit<Finding, 'store'>[] {
  const { regions } = config.stores
  if (partitions <= regions) return []
  return [
    {
      level: 'doubtful',
      sentence: `${partitions} partitions are more than the ${regions} regions, so some stay empty: set stores.kafka.partitions to at most ${regions}`,
    },
  ]
}

async function examine(store: Finding['store'], tls: boolean, look: () => Promise<Omit<Finding, 'store'>[]>): Promise<Finding[]> {
  try {
    const findings = await look()
    if (findings.every(({ level }) => level === 'good')) return [{ store, level: 'good', sentence: 'is fit' }]
    return findings.filter(({ level }) => level !== 'good').map((finding) => ({ store, ...finding }))
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    const isDown = error.code === UNAVAILABLE[store]
    return [{ store, level: 'wrong', sentence: `${error.message}${tls && isDown && !error.message.includes('TLS') ? MAYBE_TLS : ''}` }]
  }
}

/** A server without TLS mostly just hangs up, or waits for more. */
const MAYBE_TLS = '; tls is set: if the server runs, most likely it speaks no TLS at this address, or its certificate does not fit'

async function withDatabase<T>(clock: Clock, mysql: Distributed['mysql'], work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(clock, mysql)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The common ones first, then those of each business that has some: of these what is its own. */
function allServersOf(config: Config): ServersOf[] {
  const { redis, kafka, mysql } = config.stores
  if (redis && kafka && mysql) {
    const tenants = tenantsOf(config).map((business) => ({
      business: business.name,
      redis: business.thumbup.stores?.redis,
      kafka: { ...kafka, topicPrefix: tenantTopicPrefix(kafka.topicPrefix, business.name) },
      mysql: business.thumbup.stores?.mysql,
    }))
    return [{ business: undefined, redis, kafka, mysql }, ...tenants]
  }
  throw new TidemarkError(
    'CONFIG_INVALID',
    'the embedded stores need no preparing: set stores.redis, kafka and mysql for the distributed shape',
  )
}
