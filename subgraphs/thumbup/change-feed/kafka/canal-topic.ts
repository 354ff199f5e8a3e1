/** The topic that TiCDC fills: its partitions, and its removed messages. */
import type { Admin } from 'kafkajs'
import { TidemarkError } from '../../../../core/errors.ts'
import { isMissing } from '../../../../stores/kafka/errors.ts'

export async function countPartitions(admin: Admin, topic: string): Promise<number> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const count = topics[0]?.partitions.length ?? 0
    if (count > 0) return count
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  throw new TidemarkError('TOPIC_MISSING', `topic ${topic} of TiCDC does not exist: create the changefeed, or correct canalTopic`)
}

/** Reports messages that Kafka removed before the group read them. */
export async function reportRemoved(admin: Admin, groupId: string, topic: string, onGap: (sentence: string) => void): Promise<void> {
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] })
  const ends = await admin.fetchTopicOffsets(topic)
  for (const { partition, offset } of committed?.partitions ?? []) {
    const low = Number(ends.find((end) => end.partition === partition)?.low ?? 0)
    if (Number(offset) >= 0 && Number(offset) < low)
      onGap(`Kafka removed ${low - Number(offset)} messages of topic ${topic} before they were read`)
  }
}
