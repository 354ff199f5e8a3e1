/** The first offsets of a consumer group. */
import type { Admin } from 'kafkajs'

/** Commits the offsets of a group that never committed. A consumer would set them only with its first fetch, and miss earlier messages. */
export async function beginNow(admin: Admin, groupId: string, topic: string): Promise<void> {
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] })
  if (committed?.partitions.some(({ offset }) => Number(offset) >= 0) === true) return
  const ends = await admin.fetchTopicOffsets(topic)
  await admin.setOffsets({ groupId, topic, partitions: ends.map(({ partition, high }) => ({ partition, offset: high })) })
}
