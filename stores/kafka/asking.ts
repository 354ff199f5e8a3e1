/** Occasional requests to Kafka: each on its own connection, within a bounded time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Kafka } from 'kafkajs'
import { type KafkaConnection, REQUEST_MAX_MS, bounded } from './client.ts'
import { isWithoutCoordinator } from './errors.ts'

const ASK_AGAIN_MS = 100
/** Leaders of many new partitions are elected one after another, and a busy broker is slow. */
const AGAIN_MAX_MS = 20_000

/** Repeats a request for a bounded time while its error is transient; kafkajs repeats some requests but not others. */
export async function again<T>(isPassing: (error: unknown) => boolean, ask: () => Promise<T>, maxMs: number = AGAIN_MAX_MS): Promise<T> {
  for (const end = Date.now() + maxMs; ; await sleep(ASK_AGAIN_MS)) {
    try {
      return await ask()
    } catch (error) {
      if (!isPassing(error) || Date.now() > end) throw error
    }
  }
}

/** Rejects as `bounded` does. The signal of `work` is aborted when nobody waits for it any more. */
export async function askOnce<T>(
  kafka: Kafka,
  connection: KafkaConnection,
  work: (admin: Admin, givenUp: AbortSignal) => Promise<T>,
  maxMs: number = connection.requestMaxMs ?? REQUEST_MAX_MS,
): Promise<T> {
  const admin = kafka.admin()
  const ended = new AbortController()
  try {
    return await bounded(connection, maxMs, async () => {
      await admin.connect()
      return again(isWithoutCoordinator, () => work(admin, ended.signal), maxMs)
    })
  } finally {
    ended.abort()
    await admin.disconnect().catch(() => undefined)
  }
}

/** Messages of a topic that a group has not committed. */
export async function lagOf(admin: Admin, topic: string, groupId: string): Promise<number> {
  const [ends, groups] = await Promise.all([admin.fetchTopicOffsets(topic), admin.fetchOffsets({ groupId, topics: [topic] })])
  const committed = new Map(groups[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  // -1 means that nothing is committed: all kept messages count then, as they do if messages expired unread.
  return ends.reduce((sum, { partition, high, low }) => sum + Number(high) - Math.max(Number(low), committed.get(partition) ?? -1), 0)
}

/** The offset of the next message, per partition. */
export async function endOf(admin: Admin, topic: string): Promise<number[]> {
  const end: number[] = []
  for (const { partition, high } of await admin.fetchTopicOffsets(topic)) end[partition] = Number(high)
  return end
}

/** True if the group has committed, or the topic has deleted, all messages before this end. */
export async function hasCommitted(admin: Admin, topic: string, groupId: string, end: readonly number[]): Promise<boolean> {
  const [ends, groups] = await Promise.all([admin.fetchTopicOffsets(topic), admin.fetchOffsets({ groupId, topics: [topic] })])
  const committed = new Map(groups[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  return ends.every(({ partition, low }) => Math.max(Number(low), committed.get(partition) ?? -1) >= (end[partition] ?? 0))
}
