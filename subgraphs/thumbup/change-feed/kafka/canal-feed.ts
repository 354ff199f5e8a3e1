/**
 * The change feed of counts from a topic that TiCDC fills with canal-json. It is the same port as the feed from the binary log.
 *
 * TiCDC needs one changefeed for the tables counts, owners and heartbeats, into one topic. Rows are dispatched by table or by index value,
 * so that the rows of a subject keep their order. A topic with several partitions needs `enable-tidb-extension=true`: its watermarks report
 * the time up to which all partitions are complete. The feed writes its beats into the database and reads them back here, so freshness is
 * measured from end to end.
 *
 * The place is the group's offset in Kafka, committed when `onChanges` has resolved. A group must have only one member, since a second one
 * would take partitions away. Unreadable messages are quarantined and reported as a gap, like messages that Kafka removed before they were
 * read.
 */
import { randomBytes } from 'node:crypto'
import type { Admin } from 'kafkajs'
import type { Clock } from '../../../../core/clock.ts'
import type { CountFeed, RunningFeed, WriteBeat } from '../count-feed.ts'
import { countChangesOf } from '../feed-rows.ts'
import { startBeats } from '../feed-beats.ts'
import { makeAppender } from '../../../../stores/kafka/appender.ts'
import { askOnce } from '../../../../stores/kafka/asking.ts'
import { type Decoded, partsOf } from '../../../../stores/kafka/batches.ts'
import { type CanalMessage, parseCanal } from './canal-message.ts'
import { countPartitions, reportRemoved } from './canal-topic.ts'
import { makeCanalProgress } from './canal-progress.ts'
import { type KafkaConnection, type KafkaLogger, makeClient } from '../../../../stores/kafka/client.ts'
import { superviseConsumer } from '../../../../stores/kafka/consumer.ts'
import { parkAll } from '../../../../stores/kafka/dead-letters.ts'
import { topicNames } from '../../../../stores/kafka/topics.ts'
import { beginNow } from '../../../../stores/kafka/group-offsets.ts'

export type CanalFeedOptions = {
  connection: KafkaConnection
  /** The topic that TiCDC fills. */
  topic: string
  /** The database of the tables, as TiCDC names it. */
  database: string
  /** The name of the place: one name per process that follows. */
  name: string
  /** The prefix of our own topics, for unreadable messages. Default "tidemark". */
  topicPrefix?: string
  /** Milliseconds between two beats. Minimum 50. Default 1000. */
  beatEveryMs?: number
  /** Messages per call of `onChanges`. Minimum 1. Default 1000. */
  batchMax?: number
}

type Placed = { partition: number; message: CanalMessage }

const CONSUMER = {
  fromBeginning: true,
  partitionsAtOnce: 4,
  sessionMaxMs: 10_000,
  rebalanceMaxMs: 60_000,
  hungAfterMs: 60_000,
  startMaxMs: 15_000,
  mayBeDown: true,
}
const WAITING_BYTES_MAX = 16 * 1_048_576

/** Connects when started. */
export function makeCanalFeed(
  writeBeat: WriteBeat,
  options: CanalFeedOptions,
  { clock, logger }: { clock: Clock; logger: KafkaLogger },
): CountFeed {
  return { start: (onChanges, onGap = () => undefined) => startFeed(writeBeat, options, clock, logger, onChanges, onGap) }
}

async function startFeed(
  writeBeat: WriteBeat,
  options: CanalFeedOptions,
  clock: Clock,
  logger: KafkaLogger,
  onChanges: Parameters<CountFeed['start']>[0],
  onGap: (sentence: string) => void,
): Promise<RunningFeed> {
  const { connection, topic, name, topicPrefix = 'tidemark', beatEveryMs = 1_000, batchMax = 1_000 } = options
  const instance = randomBytes(8).toString('hex')
  const groupId = `${topicPrefix}-feed-${name}`
  const kafka = makeClient(connection, logger)
  const ask = <T>(work: (admin: Admin, givenUp: AbortSignal) => Promise<T>): Promise<T> => askOnce(kafka, connection, work)
  const partitions = await ask(async (admin, givenUp) => {
    const count = await countPartitions(admin, topic)
    await beginNow(kafka, admin, groupId, topic, givenUp)
    await reportRemoved(admin, groupId, topic, onGap)
    return count
  })
  const decode = (message: { value: Buffer | null }): Decoded<CanalMessage> => decodeOne(message, options.database)
  const progress = makeCanalProgress(partitions)
  const appender = makeAppender(kafka, connection, clock, logger, { appendMaxMs: 5_000, waitingBytesMax: WAITING_BYTES_MAX })
  const ended = Promise.withResolvers<unknown>()
  let finishing: Promise<void> | undefined
  /** Partitions are processed in parallel, but the port promises one call at a time. */
  let queue: Promise<unknown> = Promise.resolve()

  const consumer = await superviseConsumer<CanalMessage>(
    kafka,
    connection,
    {
      park: (partition, undecodable) => parkAll(appender, topicNames(topicPrefix), partition, undecodable),
      countPartitions: () => ask((admin) => countPartitions(admin, topic)),
    },
    {
      persist: ({ partition, messages }) => {
        const done = queue.then(() => take(messages.map((message) => ({ partition, message }))))
        queue = done.catch(() => undefined)
        return done
      },
      parked: (reason, where) =>
        onGap(`a message of topic ${topic} cannot be read and is quarantined (${JSON.stringify(where)}): ${reason}`),
    },
    clock,
    logger,
    {
      topic,
      groupId,
      regions: partitions,
      parts: (messages) => partsOf(messages, decode, () => 1, batchMax),
      ...CONSUMER,
    },
  )
  let hasReported = false
  const beats = startBeats(clock, beatEveryMs, name, beat, logger)
  return { readUntil: () => progress.readUntil(), ended: ended.promise, stop }

  async function take(placed: readonly Placed[]): Promise<void> {
    const changes = placed.flatMap(({ message }) => (message.kind === 'rows' ? message.changes : []))
    const { counts, owners } = countChangesOf(changes)
    if (counts.length + owners.length > 0) await onChanges({ counts, owners })
    for (const { partition, message } of placed) {
      if (message.kind === 'watermark') progress.watermark(partition, message.watermark)
      if (message.kind !== 'rows') continue
      for (const change of message.changes) {
        if (change.kind === 'beat' && change.feed === name && change.instance === instance)
          progress.beat(change.beatAt, message.committedAt)
      }
    }
  }

  async function beat(): Promise<void> {
    try {
      await writeBeat(name, instance, clock.now())
    } finally {
      reportMissingWatermarks()
    }
  }

  function reportMissingWatermarks(): void {
    if (hasReported || !progress.lacksWatermarks()) return
    hasReported = true
    logger.error(
      { topic, partitions },
      'the topic has no watermarks: create the changefeed with enable-tidb-extension=true, or with one partition',
    )
  }

  function stop(): Promise<void> {
    finishing ??= finish()
    return finishing
  }

  async function finish(): Promise<void> {
    await Promise.all([consumer.stop(), beats.stop()])
    await appender.close()
    ended.resolve(new Error('the change feed was stopped'))
  }
}

function decodeOne({ value }: { value: Buffer | null }, database: string): Decoded<CanalMessage> {
  try {
    return value === null ? { content: { kind: 'nothing' } } : { content: parseCanal(value, database) }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}
