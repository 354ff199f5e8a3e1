/**
 * The topics of the log and their settings.
 *
 * | topic         | partitions | kept    | holds                                                                  |
 * |---------------|------------|---------|------------------------------------------------------------------------|
 * | .flushes      | 12         | 7 days  | keys to persist; a region's messages are all in partition region mod n |
 * | .rewards      | 12         | 30 days | first views, plays and issues of a day, for the service that pays them |
 * | .mark-flushes | 12         | 7 days  | keys of marks to persist, as in .flushes                               |
 * | .feed-flushes | 12         | 7 days  | keys of posts and filter words to persist, as in .flushes              |
 * | .plays        | 12         | 7 days  | watched subjects, from any reporter (Plays)                            |
 * | .mark         | 12         | 30 days | every transition of a mark (MarkEvent), in partition region mod n      |
 * | .count        | 12         | 30 days | every change of a subject's counts (CountEvent)                        |
 * | .progress     | 12         | 30 days | persisted progress, if `history.progressTopic` is set (ProgressEvent)  |
 * | .dead         | 1          | 30 days | unreadable messages, each with its reason in a header                  |
 *
 * A business with its own stores has .mark-flushes, .rewards and .dead under its own prefix: messages that wait for its database delay no
 * other business.
 *
 * All topics are deleted by age, never compacted: their keys are regions, and compaction would keep one message of each. The loss of an old
 * flush loses no data, since the sweeper persists all keys that stay dirty.
 *
 * The dead topic accepts larger batches than the others: a parked message is one of theirs, as large as they allow, and its reason.
 */
import type { Admin } from 'kafkajs'
import { TidemarkError } from '../../core/errors.ts'
import { again } from './asking.ts'
import { type KafkaConnection, type KafkaLogger, REQUEST_MAX_MS, bounded, makeClient } from './client.ts'
import { isUnsettled } from './errors.ts'
import type { Stream } from '../../core/log-consumer.ts'

export type TopicNames = { flushes: string; rewards: string; dead: string }

const SUFFIX = { marks: 'mark-flushes', plays: 'plays', feed: 'feed-flushes' } as const

export function topicNames(prefix: string, stream: Stream = 'history'): TopicNames {
  if (stream !== 'history') return { ...topicNames(prefix), flushes: `${prefix}.${SUFFIX[stream]}` }
  return { flushes: `${prefix}.flushes`, rewards: `${prefix}.rewards`, dead: `${prefix}.dead` }
}

export type EventTopicNames = { marks: string; counts: string; progress: string }

/** The outgoing events, part of the contract with other teams. */
export function eventTopicNames(prefix: string): EventTopicNames {
  return { marks: `${prefix}.mark`, counts: `${prefix}.count`, progress: `${prefix}.progress` }
}

export type TopicSettings = {
  /** 'marks': only the topics that a separate stream of marks needs; if absent, all topics. */
  only?: 'marks'
  /** Prefix of the topics' names. Default "tidemark". */
  topicPrefix?: string
  /** With the topic of progress events. */
  progress?: boolean
  /** Partitions of flushes and rewards, which limit the number of concurrent consumers. Minimum 1. Default 12. */
  partitions?: number
  /** Copies of each partition. Default -1: the brokers' own default. */
  replicationFactor?: number
  /** Days that flushes are kept. Minimum 1. Default 7. */
  flushesDays?: number
  /** Days that rewards, events of marks and dead messages are kept. Minimum 1. Default 30. */
  rewardsDays?: number
}

export const PARTITIONS = 12
/** Maximum bytes of a batch for the brokers, compressed. The appender stays below it even uncompressed. */
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
    { topic: topicNames(prefix, 'feed').flushes, partitions, config: keptFor(settings.flushesDays ?? 7) },
    { topic: topicNames(prefix, 'plays').flushes, partitions, config: keptFor(settings.flushesDays ?? 7) },
    { topic: events.marks, partitions, config: keptFor(rewardsDays) },
    { topic: events.counts, partitions, config: keptFor(rewardsDays) },
    ...(settings.progress ? [{ topic: events.progress, partitions, config: keptFor(rewardsDays) }] : []),
    dead,
  ]
}

export type KafkaMigration = {
  /** Topics created by this run. */
  created: string[]
  /** One sentence per existing topic that differs from the configuration. The topic is not changed. */
  findings: string[]
}

/** Creates missing topics; leaves the others unchanged and reports their differences. May be repeated. */
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

/** The problems of the existing topics, a sentence each, for `tidemark doctor`. Missing topics included. */
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
    // The wait of kafkajs fails if a broker does not know the topics yet.
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
  // 2 is the number of "topic" among the resource types with settings.
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
  return [`topic ${topic} has ${found} partitions and ${partitions} are configured: configure ${found}, since partitions cannot be removed`]
}

function compareConfig({ topic, config }: WantedTopic, found: ReadonlyMap<string, string>): string[] {
  const findings: string[] = []
  const policy = found.get('cleanup.policy')
  if (policy !== undefined && policy !== config['cleanup.policy']) {
    findings.push(`topic ${topic} has cleanup.policy=${policy}, which removes messages that are still needed: set it to delete`)
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
