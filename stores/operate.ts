/**
 * What operators do to the servers of the distributed shape: prepare them, and ask whether they are fit. Beside
 * `open.ts` the only file that names adapters.
 */
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { UNAVAILABLE, type StoreName } from '../core/degraded.ts'
import { TidemarkError, isTidemarkError } from '../core/errors.ts'
import { examineKafka } from './kafka/examine.ts'
import { migrateKafka } from './kafka/topics.ts'
import { kafkaConnection, type StoreLogger } from './servers.ts'
import { openDatabase, type Database } from './mysql/database.ts'
import { checkMysql } from './mysql/doctor.ts'
import { checkSchema, migrateMysql, printMigrations } from './mysql/schema-version.ts'
import { checkRedis } from './redis/check.ts'

export type Finding = {
  store: StoreName
  /** wrong: it fails or loses data. doubtful: look at it. */
  level: 'good' | 'doubtful' | 'wrong'
  /** What was found; unless it is good, also what to do. */
  sentence: string
}

type Servers = Required<Pick<Config['stores'], 'redis' | 'kafka' | 'mysql'>>

/** Creates tables and topics; may be repeated. Returns a sentence per thing done or found. */
export async function migrateStores(config: Config, clock: Clock, logger: StoreLogger): Promise<string[]> {
  const { kafka, mysql } = serversOf(config)
  const applied = await withDatabase(clock, mysql, async (database) => {
    const names = await migrateMysql(database, clock)
    await checkSchema(database, config.stores.regions)
    return names
  })
  const { created, findings } = await migrateKafka(kafkaConnection(kafka), kafka, logger)
  return [
    ...(applied.length === 0 ? ['the schema of the record store is up to date'] : applied.map((name) => `applied ${name}`)),
    ...(created.length === 0 ? ['all topics exist'] : created.map((topic) => `created topic ${topic}`)),
    ...findings,
  ]
}

/** The schema of the record store as SQL. */
export function printSchema(): string {
  return printMigrations()
}

/** Looks at every server; one that cannot be asked is a finding, not an error. */
export async function examineStores(config: Config, clock: Clock, logger: StoreLogger): Promise<Finding[]> {
  const { redis, kafka, mysql } = serversOf(config)
  const examined = await Promise.all([
    examine('hotStore', redis.tls !== undefined || redis.urls.some((url) => url.startsWith('rediss:')), async () => {
      const findings = await checkRedis(redis, () => clock.now())
      return findings.map(({ severity, node, sentence }) => ({
        level: severity === 'wrong' ? 'wrong' : 'doubtful',
        sentence: `${node}: ${sentence}`,
      }))
    }),
    examine('log', kafka.tls !== undefined, async () => [
      ...(await examineKafka(kafkaConnection(kafka), kafka, logger)),
      ...morePartitionsThanRegions(config, kafka.partitions),
    ]),
    examine('recordStore', mysql.tls !== undefined, () =>
      withDatabase(clock, mysql, async (database) => {
        const findings = await checkMysql(database, clock)
        await checkSchema(database, config.stores.regions)
        return findings
      }),
    ),
  ])
  return examined.flat()
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

async function withDatabase<T>(clock: Clock, mysql: Servers['mysql'], work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(clock, mysql)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

function serversOf(config: Config): Servers {
  const { redis, kafka, mysql } = config.stores
  if (redis && kafka && mysql) return { redis, kafka, mysql }
  throw new TidemarkError(
    'CONFIG_INVALID',
    'the embedded stores need no preparing: set stores.redis, kafka and mysql for the distributed shape',
  )
}
