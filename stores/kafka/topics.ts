/**
 * The log's topics and how they are set up.
 *
 * | topic    | partitions | kept    | holds                                                                  |
 * |----------|------------|---------|------------------------------------------------------------------------|
 * | .flushes | 12         | 7 days  | keys to persist; a region's messages are all in partition region mod n |
 * | .rewards | 12         | 30 days | first views, plays and issues of a day, for whoever pays them out      |
 * | .mark-flushes | 12    | 7 days  | keys of marks to persist, as in .flushes                               |
 * | .plays   | 12         | 7 days  | what viewers watched, from whoever reports it (Plays)                  |
 * | .mark    | 12         | 30 days | every transition of a mark (MarkEvent), in partition region mod n      |
 * | .count   | 12         | 30 days | every change of a subject's counts (CountEvent)                        |
 * | .dead    | 1          | 30 days | messages nobody could read, each with its reason in a header           |
 *
 * A business with stores of its own has .mark-flushes, .rewards and .dead under a prefix of its own: what waits for its
 * database makes nobody else wait.
 *
 * All are deleted by age, never compacted: their keys are regions, and compaction would keep one message of each. Losing
 * a flush that is too old is no loss of data, since the sweeper persists whatever stays dirty.
 *
 * The dead topic takes larger batches than the others: what is parked is a message of theirs, as large as they allow,
 * and its reason.
 */
import type { Admin } from 'kafkajs'
import { TidemarkError } from '../../core/errors.ts'
import { again } from './asking.ts'
import { type KafkaConnection, type KafkaLogger, REQUEST_MAX_MS, bounded, makeClient } from './client.ts'
import { isUnsettled } from './errors.ts'
import type { Stream } from '../../core/log-consumer.ts'

export type TopicNames = { flushes: string; rewards: string; dead: string }

const SUFFIX = { marks: 'mark-flushes', plays: 'plays' } as const

export function topicNames(prefix: string, stream: Stream = 'history'): TopicNames {
  if (stream !== 'history') return { ...topicNames(prefix), flushes: `${prefix}.${SUFFIX[stream]}` }
  return { flushes: `${prefix}.flushes`, rewards: `${prefix}.rewards`, dead: `${prefix}.dead` }
}

export type EventTopicNames = { marks: string; counts: string }

/** The outgoing events; part of what other teams build on. */
export function eventTopicNames(prefix: string): EventTopicNames {
  return { marks: `${prefix}.mark`, counts: `${prefix}.count` }
}

export type TopicSettings = {
  /** 'marks': only the topics that a stream of marks by itself needs; absent: all. */
  only?: 'marks'
  /** What the topics' names begin with. Default "tidemark". */
  topicPrefix?: string
  /** Partitions of flushes and rewards: the most consumers that can share the work. Minimum 1. Default 12. */
  partitions?: number
  /** Copies of each partition. Default -1: the brokers' own default. */
  replicationFactor?: number
  /** Days that flushes are kept. Minimum 1. Default 7. */
  flushesDays?: number
  /** Days that rewards, events of marks and dead messages are kept. Minimum 1. Default 30. */
  rewardsDays?: number
}

export const PARTITIONS = 12
/** Bytes of a batch as the brokers see it, compressed. The appender stays below it even uncompressed. */
export const BATCH_BYTES_MAX = 1_048_576
const DEAD_BYTES_MAX = 2 * BATCH_BYTES_MAX

const DAY_MS = 86_400_000
/** A request to create topics is slower than others: it waits for leaders. */
const MIGRATE_MAX_MS = 30_000

export type WantedTopic = { topic: string; partitions: number; config: Readonly<Record<string, string>> }

export function wantedTopics(settings: TopicSettings): WantedTopic[] {
  const prefix = settings.topicPrefix ?? 'tidemark'
  const names = topicNames(prefix)
  const events = eventTopicNames(prefix)
  const partitions = settings.partitions ?? PARTITIONS
  const keptFor = (days: number, bytesMax = BATCH_BYTES_MAX) => ({
    'cleanup.policy': 'delete',
    'retention.ms': String(days * DAY_MS),
    'max.message.bytes': String(bytesMax),
  })
  const rewardsDays = settings.rewardsDays ?? 30
  const markFlushes = { topic: topicNames(prefix, 'marks').flushes, partitions, config: keptFor(settings.flushesDays ?? 7) }
  const dead = { topic: names.dead, partitions: 1, config: keptFor(rewardsDays, DEAD_BYTES_MAX) }
  if (settings.only === 'marks') return [markFlushes, { topic: names.rewards, partitions, config: keptFor(rewardsDays) }, dead]
  return [
    { topic: names.flushes, partitions, config: keptFor(settings.flushesDays ?? 7) },
    { topic: names.rewards, partitions, config: keptFor(rewardsDays) },
    markFlushes,
    { topic: topicNames(prefix, 'plays').flushes, partitions, config: keptFor(settings.flushesDays ?? 7) },
    { topic: events.marks, partitions, config: keptFor(rewardsDays) },
    { topic: events.counts, partitions, config: keptFor(rewardsDays) },
    dead,
  ]
}

export type KafkaMigration = {
  /** Topics that did not exist and do now. */
  created: string[]
  /** One sentence per topic that exists and differs from what is configured. Nothing about it was changed. */
  findings: string[]
}

/** Creates the missing topics; leaves the others as they are and says where they differ. May be repeated. */
export async function migrateKafka(connection: KafkaConnection, settings: TopicSettings, logger: KafkaLogger): Promise<KafkaMigration> {
  const admin = makeClient(connection, logger).admin()
  try {
    return await bounded(connection, MIGRATE_MAX_MS, async () => {
      await admin.connect()
      const wanted = wantedTopics(settings)
      const existing = new Set(await admin.listTopics())
      const missing = wanted.filter(({ topic }) => !existing.has(topic))
      await createTopics(admin, missing, settings.replicationFactor ?? -1)
      for (const { topic } of missing) await again(isUnsettled, () => admin.fetchTopicOffsets(topic))
      return { created: missing.map(({ topic }) => topic), findings: await again(isUnsettled, () => compare(admin, wanted)) }
    })
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** What is wrong with the topics as they are, a sentence each; for a doctor. Missing ones included. */
export async function inspectTopics(connection: KafkaConnection, settings: TopicSettings, logger: KafkaLogger): Promise<string[]> {
  const admin = makeClient(connection, logger).admin()
  try {
    return await bounded(connection, MIGRATE_MAX_MS, async () => {
      await admin.connect()
      const existing = new Set(await admin.listTopics())
      const wanted = wantedTopics(settings)
      const missing = wanted
        .filter(({ topic }) => !existing.has(topic))
        .map(({ topic }) => `topic ${topic} does not exist: run \`tidemark migrate\``)
      const present = wanted.filter(({ topic }) => existing.has(topic))
      return [...missing, ...(await compare(admin, present))]
    })
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

async function createTopics(admin: Admin, missing: readonly WantedTopic[], replicationFactor: number): Promise<void> {
  if (missing.length === 0) return
  await admin.createTopics({
    // kafkajs' own waiting fails where a broker does not know them yet.
    waitForLeaders: false,
    topics: missing.map(({ topic, partitions, config }) => ({
      topic,
      numPartitions: partitions,
      replicationFactor,
      configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
    })),
  })
}

async function compare(admin: Admin, wanted: readonly WantedTopic[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ topic }) => topic) })
  const partitionsOf = new Map(topics.map((topic) => [topic.name, topic.partitions.length]))
  // 2 is the number of "topic" among the kinds of things that have settings.
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: wanted.map(({ topic }) => ({ type: 2, name: topic })),
  })
  return wanted.flatMap((want) => {
    const entries = resources.find((resource) => resource.resourceName === want.topic)?.configEntries ?? []
    const config = new Map(entries.map((entry) => [entry.configName, entry.configValue]))
    return [...comparePartitions(want, partitionsOf.get(want.topic) ?? 0), ...compareConfig(want, config)]
  })
}

function comparePartitions({ topic, partitions }: WantedTopic, found: number): string[] {
  if (found === partitions) return []
  if (found < partitions) {
    return [
      `topic ${topic} has ${found} partitions and ${partitions} are configured: add partitions with Kafka's own tools, or configure ${found}; until then at most ${found} consumers share the work`,
    ]
  }
  return [
    `topic ${topic} has ${found} partitions and ${partitions} are configured: configure ${found}, since partitions cannot be taken away`,
  ]
}

function compareConfig({ topic, config }: WantedTopic, found: ReadonlyMap<string, string>): string[] {
  const findings: string[] = []
  const policy = found.get('cleanup.policy')
  if (policy !== undefined && policy !== config['cleanup.policy']) {
    findings.push(`topic ${topic} has cleanup.policy=${policy}, which throws away messages that are still needed: set it to delete`)
  }
  const kept = Number(found.get('retention.ms') ?? -1)
  if (kept >= 0 && kept < Number(config['retention.ms'])) {
    findings.push(
      `topic ${topic} keeps messages for ${(kept / DAY_MS).toFixed(1)} days and ${Number(config['retention.ms']) / DAY_MS} are configured: set retention.ms=${config['retention.ms']}`,
    )
  }
  const wanted = Number(config['max.message.bytes'])
  const bytes = Number(found.get('max.message.bytes') ?? wanted)
  if (bytes < wanted) findings.push(`topic ${topic} takes batches of at most ${bytes} bytes: set max.message.bytes=${wanted}`)
  return findings
}

/** The partitions of the flushes topic. Throws TOPIC_MISSING with the names of those that do not exist. */
export async function countPartitions(connection: KafkaConnection, admin: Admin, names: TopicNames): Promise<number> {
  return bounded(connection, connection.requestMaxMs ?? REQUEST_MAX_MS, async () => {
    const existing = new Set(await admin.listTopics())
    const missing = [names.flushes, names.rewards, names.dead].filter((topic) => !existing.has(topic))
    if (missing.length > 0) {
      const does = missing.length === 1 ? 'topic does' : 'topics do'
      throw new TidemarkError(
        'TOPIC_MISSING',
        `the ${does} not exist at Kafka ${connection.brokers.join(', ')}: ${missing.join(', ')}; run \`tidemark migrate\``,
      )
    }
    const { topics } = await admin.fetchTopicMetadata({ topics: [names.flushes] })
    return topics[0]?.partitions.length ?? 0
  })
}
