/** The first offsets of a consumer group. */
import type { Admin, Consumer, Kafka, TopicPartitionOffset } from 'kafkajs'
import { RETRY } from './client.ts'

/** A stop waits for the fetch under way. */
const FETCH_WAIT_MS = 100

const WITHOUT_MEMBERS: ReadonlySet<string> = new Set(['Empty', 'Dead'])

/**
 * Commits the offsets of a group that never committed. A consumer would set them only with its first fetch, and miss earlier messages.
 * Rejects if the group has members, whose offsets are their own, and commits nothing once it is given up.
 */
export async function beginNow(kafka: Kafka, admin: Admin, groupId: string, topic: string, givenUp: AbortSignal): Promise<void> {
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] })
  if (committed?.partitions.some(({ offset }) => Number(offset) >= 0) === true) return
  const [group] = (await admin.describeGroups([groupId])).groups
  if (group !== undefined && !WITHOUT_MEMBERS.has(group.state))
    throw new Error(`the consumer group ${groupId} has members (its state is ${group.state}): stop them before it gets its first offsets`)
  const ends = await admin.fetchTopicOffsets(topic)
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: FETCH_WAIT_MS, allowAutoTopicCreation: false, retry: RETRY })
  const offsets = ends.map(({ partition, high }) => ({ topic, partition, offset: high }))
  await commit(consumer, topic, offsets, givenUp)
}

/** Does the work of kafkajs' `admin.setOffsets`, which waits 5 s for messages before it returns. */
async function commit(consumer: Consumer, topic: string, offsets: TopicPartitionOffset[], givenUp: AbortSignal): Promise<void> {
  const joined = Promise.withResolvers<void>()
  const { GROUP_JOIN, CRASH } = consumer.events
  consumer.on(GROUP_JOIN, () => joined.resolve())
  consumer.on(CRASH, ({ payload }) => joined.reject(payload.error))
  givenUp.addEventListener('abort', () => joined.reject(givenUp.reason), { once: true })
  // It may reject while nobody waits for it yet.
  joined.promise.catch(() => undefined)
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic] })
    await Promise.all([
      joined.promise,
      consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() }),
    ])
    givenUp.throwIfAborted()
    await consumer.commitOffsets(offsets)
  } finally {
    // Its failure must not hide the reason of the first one.
    await consumer.disconnect().catch(() => undefined)
  }
}
