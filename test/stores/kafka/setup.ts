/** Shared by the tests of this folder: separate topics on a running Kafka, and a logger that remembers. */
import { randomUUID } from 'node:crypto'
import { Kafka, logLevel } from 'kafkajs'
import { systemClock } from '../../../core/clock.ts'
import type { KafkaConnection, KafkaLogger } from '../../../stores/kafka/client.ts'
import { type KafkaLog, openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { migrateKafka, topicNames } from '../../../stores/kafka/topics.ts'
import type { KafkaLogOptions } from '../../../writeback/stores/kafka/log-options.ts'

export const REGIONS = 100

export type Remembered = { level: string; message: string; fields: object }

export function makeLogger(): KafkaLogger & { entries: Remembered[] } {
  const entries: Remembered[] = []
  const at = (level: string) => (fields: object, message: string) => void entries.push({ level, message, fields })
  return { entries, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Fresh topics, and logs on them; `dispose` closes the logs and removes the topics. */
export async function makeTopics(connection: KafkaConnection, partitions = 12) {
  const topicPrefix = `test-${randomUUID().slice(0, 8)}`
  const names = topicNames(topicPrefix)
  const groupId = `${topicPrefix}-history`
  const logger = makeLogger()
  const logs: KafkaLog[] = []
  await migrateKafka(connection, { topicPrefix, partitions }, logger)
  const client = new Kafka({ brokers: [...connection.brokers], logLevel: logLevel.NOTHING })

  async function open(more: Partial<KafkaLogOptions> = {}): Promise<KafkaLog> {
    const log = await openKafkaLog(
      { connection, regions: REGIONS, topicPrefix, groupId, sessionMaxMs: 3_000, ...more },
      { clock: systemClock, logger },
    )
    logs.push(log)
    return log
  }

  async function appendRaw(topic: string, partition: number, value: Buffer | null): Promise<void> {
    const producer = client.producer({ createPartitioner: () => () => partition })
    await producer.connect()
    await producer.send({ topic, messages: [{ key: 'raw', value }] })
    await producer.disconnect()
  }

  /** Every message of a topic, read without the offsets of a group. */
  async function readAll(topic: string) {
    const admin = client.admin()
    await admin.connect()
    const ends = new Map(
      (await admin.fetchTopicOffsets(topic)).map(({ partition, high, low }) => [partition, { high: Number(high), at: Number(low) }]),
    )
    await admin.disconnect()
    const found: { value: Buffer | null; headers: Record<string, string> }[] = []
    if ([...ends.values()].every(({ high, at }) => high === at)) return found
    const consumer = client.consumer({ groupId: `read-${randomUUID()}`, maxWaitTimeInMs: 100 })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          autoCommit: false,
          eachMessage: async ({ partition, message }) => {
            const headers = Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]))
            found.push({ value: message.value, headers })
            const end = ends.get(partition)
            if (end !== undefined) end.at = Number(message.offset) + 1
            if ([...ends.values()].every(({ high, at }) => at >= high)) resolve()
          },
        })
        .catch(reject)
    })
    await consumer.disconnect()
    return found
  }

  async function dispose(): Promise<void> {
    await Promise.all(logs.map((log) => log.close()))
    const admin = client.admin()
    await admin.connect()
    // Optional topics exist only if a test wants them.
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`))
    await admin.deleteTopics({ topics })
    await admin.deleteGroups([groupId]).catch(() => undefined)
    await admin.disconnect()
  }

  return { topicPrefix, names, groupId, logger, client, open, appendRaw, readAll, dispose }
}
