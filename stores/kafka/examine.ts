/**
 * The checks of `tidemark doctor` for Kafka: the topics' settings, and the number of copies of acknowledged data. The protocol does not
 * give a broker's version in a form that kafkajs reads, so the version is not checked.
 */
import type { Admin } from 'kafkajs'
import type { StoreFindingName } from '../../config/store-findings.ts'
import { type KafkaConnection, type KafkaLogger, bounded, makeClient } from './client.ts'
import { type TopicSettings, eventTopicNames, inspectTopics, topicNames } from './topics.ts'

export type KafkaFinding = {
  name: StoreFindingName
  /** `wrong`: it fails or loses data. `doubtful`: it may, in some circumstances. */
  level: 'wrong' | 'doubtful'
  sentence: string
}

/** Empty if nothing was found. Rejects with LOG_UNAVAILABLE if no broker answers. */
export async function examineKafka(connection: KafkaConnection, settings: TopicSettings, logger: KafkaLogger): Promise<KafkaFinding[]> {
  const wrong = await inspectTopics(connection, settings, logger)
  const copies = await inspectCopies(connection, settings, logger)
  return [...wrong.map((sentence) => ({ level: 'wrong' as const, name: 'kafka-topic' as const, sentence })), ...copies]
}

const COPIES_MAX_MS = 15_000
/** The number of "topic" among the resource types with settings. */
const TOPIC = 2

async function inspectCopies(connection: KafkaConnection, settings: TopicSettings, logger: KafkaLogger): Promise<KafkaFinding[]> {
  const admin = makeClient(connection, logger).admin()
  try {
    return await bounded(connection, COPIES_MAX_MS, async () => {
      await admin.connect()
      const existing = new Set(await admin.listTopics())
      const prefix = settings.topicPrefix ?? 'tidemark'
      const { flushes, rewards } = topicNames(prefix)
      const { marks, counts, progress } = eventTopicNames(prefix)
      const topics = await Promise.all(
        [
          flushes,
          ...(['marks', 'feed', 'plays'] as const).map((stream) => topicNames(prefix, stream).flushes),
          rewards,
          marks,
          counts,
          progress,
        ]
          .filter((topic) => existing.has(topic))
          .map((topic) => readCopies(admin, topic)),
      )
      return topics.flatMap(judgeCopies)
    })
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

type Copies = { topic: string; replicas: number; inSyncMin: number }

/** The minimum of all partitions. */
async function readCopies(admin: Admin, topic: string): Promise<Copies> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: TOPIC, name: topic }] })
  const inSyncMin = resources[0]?.configEntries.find(({ configName }) => configName === 'min.insync.replicas')?.configValue
  const replicas = Math.min(...(topics[0]?.partitions.map((partition) => partition.replicas.length) ?? []))
  return { topic, replicas, inSyncMin: Number(inSyncMin ?? 1) }
}

/** A lost flush is only late, since the sweeper finds its keys in the hot store. A lost reward is lost. */
export function judgeCopies({ topic, replicas, inSyncMin }: Copies): KafkaFinding[] {
  const doubtful = (name: StoreFindingName, sentence: string): KafkaFinding[] => [
    { level: 'doubtful', name, sentence: `topic ${topic} ${sentence}` },
  ]
  if (replicas === 1)
    return doubtful(
      'kafka-one-copy',
      'has one copy of each partition, so the loss of a broker loses its messages: configure three (for a new deployment: stores.kafka.replicationFactor: 3)',
    )
  if (inSyncMin >= replicas)
    return doubtful(
      'kafka-min-insync',
      `has min.insync.replicas=${inSyncMin} and ${replicas} copies, so it accepts nothing while one broker is down: set it to ${replicas - 1}`,
    )
  if (inSyncMin === 1)
    return doubtful(
      'kafka-min-insync',
      `has min.insync.replicas=1, so a message may be acknowledged that only one broker has, and be lost with it: set 2, with three copies`,
    )
  return []
}
