/** The reports for operators about the own stores of businesses, and about the legacy store of a migration. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig, type Config } from '../../../config/config.ts'
import { examineStores } from '../../../cli/stores/examine.ts'
import { migrateStores } from '../../../cli/stores/operate.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../stores/mysql/databases.ts'
import { startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const kafka = await service('kafka')

describe.skipIf(kafka === undefined || mariadb === undefined)('the stores of tenants', () => {
  let servers: TestServers
  let databases: TestDatabase[]
  let nobody = 0
  const topicPrefix = `operate-${process.pid}-${Date.now()}`

  function configOf(tenant: { redis?: object; mysql?: object }, existence: object = {}): Config {
    const stores = {
      regions: 4,
      redis: { urls: servers.urls },
      kafka: { brokers: [kafka as string], topicPrefix, partitions: 2, replicationFactor: 1 },
      mysql: { url: databases[0]?.url },
    }
    const businesses = [
      { number: 1, name: 'video', entity: 'Video' },
      { number: 2, name: 'article', entity: 'Article', thumbup: { stores: tenant } },
    ]
    return makeConfig([{ name: 'test', values: { stores, businesses, existence } }])
  }
  const wrongOf = async (config: Config): Promise<string[]> =>
    (await examineStores(config, systemClock, logger))
      .filter(({ level, sentence }) => level === 'wrong' && !/topic|tidemark migrate/.test(sentence))
      .map(({ store, sentence }) => `${store}: ${sentence}`)

  beforeAll(async () => {
    servers = await startRedis(['maxmemory-policy noeviction', 'appendonly yes', 'appendfsync always'])
    databases = await Promise.all([makeDatabase(), makeDatabase()])
    ;[nobody = 0] = await freePorts(1)
  })
  afterAll(async () => {
    for (const database of databases) await database.drop()
    await servers.stop()
  })

  test('that do not answer are named, each by its business, and no others', async () => {
    const config = configOf({
      redis: { urls: [`redis://127.0.0.1:${nobody}`] },
      mysql: { url: `mysql://tidemark@127.0.0.1:${nobody}/own` },
    })
    const wrong = await wrongOf(config)
    expect(wrong).toHaveLength(2)
    expect(wrong.toSorted()).toEqual([
      expect.stringMatching(/^hotStore: article: .*127\.0\.0\.1/),
      expect.stringMatching(/^recordStore: article: .*127\.0\.0\.1/),
    ])
    const { done, refused } = await migrateStores(config, systemClock, logger)
    expect(refused).toEqual([
      expect.objectContaining({
        code: 'RECORD_STORE_UNAVAILABLE',
        message: expect.stringMatching(/^the stores of business "article": /) as string,
      }),
    ])
    // Its topics are on the common Kafka, ready for its database.
    expect(done).toContainEqual(expect.stringMatching(/^article: created topic operate-/))
  })

  test('that refuse the account, or have no such database or tables, are reported with the reason', async () => {
    const url = `${databases[1]?.url}_elsewhere`
    expect(await wrongOf(configOf({ mysql: { url } }))).toEqual([
      expect.stringMatching(/^recordStore: article: .*_elsewhere has no such database .*: create it, or correct the url/),
    ])
    const refusing = (databases[1]?.url ?? '').replace('tidemark:tidemark@', 'tidemark:wrong@')
    expect(await wrongOf(configOf({ mysql: { url: refusing } }))).toEqual([
      expect.stringMatching(/^recordStore: article: .* refuses "tidemark" .*: check user, password, rights and tls/),
    ])
    const found = await examineStores(configOf({ mysql: { url: databases[1]?.url } }), systemClock, logger)
    expect(found.map(({ sentence }) => sentence)).toContainEqual(expect.stringMatching(/^article: .*tidemark migrate/))
  })

  test('the legacy store of a migration is checked with the read that readers use', async () => {
    const legacy = (urls: readonly string[]) => ({ legacy: { urls, key: 'played:{business}:{viewer}', businesses: ['video'] } })
    const own = { mysql: { url: databases[1]?.url } }
    const found = await examineStores(configOf(own, legacy(servers.urls)), systemClock, logger)
    expect(found.filter(({ store }) => store === 'legacyStore')).toEqual([{ store: 'legacyStore', level: 'good', sentence: 'is fit' }])
    expect(await wrongOf(configOf(own, legacy([`redis://127.0.0.1:${nobody}`])))).toEqual([
      expect.stringMatching(/^legacyStore: the legacy Redis at 127\.0\.0\.1/),
    ])
    const redis = new Redis(servers.urls[0] as string)
    await redis.set('played:video:0', 'no set')
    redis.disconnect()
    expect(await wrongOf(configOf(own, legacy(servers.urls)))).toEqual([expect.stringMatching(/^legacyStore: .*not a sorted set/)])
  })
})
