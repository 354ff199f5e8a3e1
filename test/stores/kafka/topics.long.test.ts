import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { inspectTopics, migrateKafka, topicNames } from '../../../stores/kafka/topics.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeLogger } from './setup.ts'
import { until } from '../../../harness/until.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('topics of the log', () => {
  const connection = { brokers: [address as string] }
  const logger = makeLogger()
  const client = new Kafka({ ...connection, logLevel: logLevel.NOTHING })
  const made: string[] = []
  const freshPrefix = () => {
    const topicPrefix = `test-${randomUUID().slice(0, 8)}`
    made.push(...Object.values(topicNames(topicPrefix)))
    return topicPrefix
  }
  afterAll(async () => {
    const admin = client.admin()
    await admin.connect()
    const existing = await admin.listTopics()
    await admin.deleteTopics({ topics: made.filter((topic) => existing.includes(topic)) })
    await admin.disconnect()
  })

  it('migrating creates missing topics, and a second run changes nothing', async () => {
    const topicPrefix = freshPrefix()
    const first = await migrateKafka(connection, { topicPrefix, partitions: 6 }, logger)
    expect(first).toEqual({
      created: ['flushes', 'rewards', 'mark-flushes', 'feed-flushes', 'plays', 'mark', 'count', 'dead'].map(
        (name) => `${topicPrefix}.${name}`,
      ),
      findings: [],
    })
    const second = await migrateKafka(connection, { topicPrefix, partitions: 6 }, logger)
    expect(second).toEqual({ created: [], findings: [] })
  })

  it('topics have the documented partitions and settings', async () => {
    const topicPrefix = freshPrefix()
    await migrateKafka(connection, { topicPrefix }, logger)
    const names = topicNames(topicPrefix)
    const admin = client.admin()
    await admin.connect()
    const { topics } = await admin.fetchTopicMetadata({ topics: Object.values(names) })
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: names.flushes }] })
    await admin.disconnect()
    expect(Object.fromEntries(topics.map((topic) => [topic.name, topic.partitions.length]))).toEqual({
      [names.flushes]: 12,
      [names.rewards]: 12,
      [names.dead]: 1,
    })
    const config = new Map(resources[0]?.configEntries.map((entry) => [entry.configName, entry.configValue]))
    expect(config.get('cleanup.policy')).toBe('delete')
    expect(config.get('retention.ms')).toBe(String(7 * 86_400_000))
  })

  it('a topic with a wrong number of partitions, or with settings that lose data, is named and left unchanged', async () => {
    const topicPrefix = freshPrefix()
    const names = topicNames(topicPrefix)
    const admin = client.admin()
    await admin.connect()
    await admin.createTopics({
      // The wait of kafkajs fails while a broker does not know them yet. The migration waits by itself.
      waitForLeaders: false,
      topics: [
        {
          topic: names.flushes,
          numPartitions: 2,
          configEntries: [
            { name: 'cleanup.policy', value: 'compact' },
            { name: 'retention.ms', value: '3600000' },
          ],
        },
        { topic: names.rewards, numPartitions: 5 },
      ],
    })
    await admin.disconnect()
    const { created, findings } = await migrateKafka(connection, { topicPrefix, partitions: 4 }, logger)
    expect(created).toEqual([
      ...['mark-flushes', 'feed-flushes', 'plays', 'mark', 'count'].map((name) => `${topicPrefix}.${name}`),
      names.dead,
    ])
    expect(findings.some((line) => line.includes(`${names.flushes} has 2 partitions and 4 are configured: add partitions`))).toBe(true)
    expect(findings.some((line) => line.includes(`${names.rewards} has 5 partitions and 4 are configured: configure 5`))).toBe(true)
    expect(findings.some((line) => line.includes('cleanup.policy=compact'))).toBe(true)
    expect(findings.some((line) => line.includes('retention.ms='))).toBe(true)
    expect(await inspectTopics(connection, { topicPrefix, partitions: 4 }, logger)).toEqual(findings)
  })

  it('a log that opens while its topics are created waits for them, and so do its first messages', async () => {
    const topicPrefix = freshPrefix()
    const opening = openKafkaLog({ connection, regions: 100, topicPrefix }, { clock: systemClock, logger })
    await sleep(1_000)
    await migrateKafka(connection, { topicPrefix }, logger)
    const log = await opening
    const taken: number[] = []
    const consumer = await log.consumeFlushes({ persist: async ({ messages }) => void taken.push(...messages.map(({ region }) => region)) })
    await log.appendFlushes([{ region: 3, keys: [{ viewer: '3', business: 1, oid: 'x' }] }])
    await until('it comes', () => taken.includes(3))
    await consumer.stop()
    await log.close()
  })

  it('a message for a topic that is created a second later is stored', async () => {
    const topicPrefix = freshPrefix()
    await migrateKafka(connection, { topicPrefix }, logger)
    const log = await openKafkaLog({ connection, regions: 100, topicPrefix, appendMaxMs: 20_000 }, { clock: systemClock, logger })
    const admin = client.admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [topicNames(topicPrefix).flushes] })
    await sleep(500)
    const appending = log.appendFlushes([{ region: 3, keys: [{ viewer: '3', business: 1, oid: 'x' }] }])
    await sleep(1_000)
    await migrateKafka(connection, { topicPrefix }, logger)
    await appending
    expect(await log.lag()).toBe(1)
    await admin.disconnect()
    await log.close()
  })

  it('a log without its topics does not open, and the error says how to create them', async () => {
    const topicPrefix = freshPrefix()
    const opening = openKafkaLog({ connection, regions: 100, topicPrefix, mayBeDown: true }, { clock: systemClock, logger })
    await expect(opening).rejects.toMatchObject({ code: 'TOPIC_MISSING', message: expect.stringContaining(`${topicPrefix}.flushes`) })
    await expect(opening).rejects.toThrow(/tidemark migrate/)
    expect((await inspectTopics(connection, { topicPrefix }, logger))[0]).toContain('does not exist')
  })
})
