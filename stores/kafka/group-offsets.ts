/** The first offsets of a consumer group. */
import type { Admin, Consumer, Kafka, TopicPartitionOffset } from 'kafkajs'
import { RETRY } from './client.ts'

/** A stop waits for the fetch under way. */
const FETCH_WAIT_MS = 100

/** Commits the offsets of a group that never committed. A consumer would set them only with its first fetch, and miss earlier messages. */
export async function beginNow(kafka: Kafka, admin: Admin, groupId: string, topic: string): Promise<void> {
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] })
  if (committed?.partitions.some(({ offset }) => Number(offset) >= 0) === true) return
  const ends = await admin.fetchTopicOffsets(topic)
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: FETCH_WAIT_MS, allowAutoTopicCreation: false, retry: RETRY })
  await commit(
    consumer,
    topic,
    ends.map(({ partition, high }) => ({ topic, partition, offset: high })),
  )
}

/** Does the work of kafkajs' `admin.setOffsets`, which waits 5 s for messages before it returns. */
async function commit(consumer: Consumer, topic: string, offsets: TopicPartitionOffset[]): Promise<void> {
  const joined = Promise.withResolvers<void>()
  consumer.on(consumer.events.GROUP_JOIN, () => joined.resolve())
  consumer.on(consumer.events.CRASH, ({ payload }) => joined.reject(payload.error))
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic] })
    await Promise.all([
      joined.promise,
      consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() }),
    ])
    await consumer.commitOffsets(offsets)
  } finally {
    await consumer.disconnect()
  }
}
