/**
 * Prepares the servers of the distributed shape for operators. Only this file, `history.ts` and `examine.ts` name adapters.
 *
 * For a business with stores of its own, its database and topics are prepared and checked as well. A failure is reported for that business
 * and does not stop the preparation of the others.
 */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { migrateKafka, type TopicSettings } from '../../stores/kafka/topics.ts'
import { allServersOf, withDatabase } from './server-sets.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'
import { checkSchema, migrateMysql, printMigrations } from '../../stores/mysql/schema-version.ts'

export type Migration = {
  /** One sentence per action or finding. */
  done: string[]
  /** The failures of businesses with stores of their own. */
  refused: TidemarkError[]
}

/**
 * Creates tables and topics. May be repeated. Rejects if the common stores cannot be prepared. A failure of one business does not stop the
 * others.
 */
export async function migrateStores(config: Config, clock: Clock, logger: StoreLogger): Promise<Migration> {
  const { regions } = config.stores
  const [common, ...tenants] = allServersOf(config)
  if (common === undefined) return { done: [], refused: [] }
  const { mysql, kafka } = common
  const migration: Migration = {
    done: [
      ...(await migrateRecords(regions, clock, mysql)),
      ...(await migrateLog(logger, kafka, { progress: config.history.progressTopic })),
    ],
    refused: [],
  }
  for (const { business, mysql: own, kafka: ownTopics } of tenants) {
    for (const migrate of [() => migrateRecords(regions, clock, own), () => migrateLog(logger, ownTopics, { only: 'marks' })]) {
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

async function migrateLog(logger: StoreLogger, kafka: Distributed['kafka'], topics: TopicSettings): Promise<string[]> {
  const { created, findings } = await migrateKafka(kafkaConnection(kafka), { ...kafka, ...topics }, logger)
  return [...(created.length === 0 ? ['all topics exist'] : created.map((topic) => `created topic ${topic}`)), ...findings]
}

/** The schema of the record store as SQL. */
export function printSchema(): string {
  return printMigrations()
}
