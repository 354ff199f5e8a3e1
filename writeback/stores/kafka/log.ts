/**
 * The log on Kafka. A region's messages go to partition `region mod partitions`; a member of the persisting group owns
 * the regions of its partitions. Topics are made by `migrateKafka` (topics.ts says how they are set up), never here.
 *
 * Opening needs an answer: missing topics, wrong credentials (CONFIG_INVALID) and brokers that cannot be reached are errors
 * then, the last unless `mayBeDown` says that a process should begin without its log. A topic counts as missing when it is for
 * some seconds. Later, everything is tried again within its time.
 */
import type { Admin } from 'kafkajs'
import { type Clock, sleep } from '../../../core/clock.ts'
import { regionOf } from '../../../core/regions.ts'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import type { ConsumerHooks, FlushMessage, Log } from '../../log.ts'
import { makeAppender, type Outgoing } from '../../../stores/kafka/appender.ts'
import { again, lagOf } from '../../../stores/kafka/asking.ts'
import type { Undecodable } from '../../../stores/kafka/batches.ts'
import { type KafkaConnection, type KafkaLogger, REQUEST_MAX_MS, bounded, makeClient } from '../../../stores/kafka/client.ts'
import { superviseConsumer } from '../../../stores/kafka/consumer.ts'
import { parkAll } from '../../../stores/kafka/dead-letters.ts'
import { MISSING_MAX_MS, isMissing, isRefusal, isWithoutCoordinator } from '../../../stores/kafka/errors.ts'
import { countPartitions, topicNames } from '../../../stores/kafka/topics.ts'
import { encodeReward } from '../../flush-codec.ts'
import type { LogConsumer, Stream } from '../../../core/log-consumer.ts'
import { encodePieces, flushParts } from './flushes.ts'

export type KafkaLogOptions = {
  connection: KafkaConnection
  /** Shards of viewers of this deployment. */
  regions: number
  /** What the topics' names begin with. Default "tidemark". */
  topicPrefix?: string
  /** Which log of this deployment. Default "history". */
  stream?: Stream
  /** The persisting group. Default: the prefix and "-history", or "-thumbup" of marks. */
  groupId?: string
  /** Open, and begin to consume, even if Kafka does not answer now. Missing topics are an error all the same. Default false. */
  mayBeDown?: boolean
  /** With `mayBeDown`: topics that are missing, or that we may not use, count as a log that is down until somebody has mended it. Default false. */
  mayBeUnfit?: boolean
  /** Milliseconds an append may take before it fails, retries included. Minimum 100. Default 5000. */
  appendMaxMs?: number
  /** Bytes that may wait to be sent. Default 64 MiB. */
  waitingBytesMax?: number
  /** Keys one call of `persist` gets at most, where a single message has not more. Minimum 1. Default 20000. */
  batchKeysMax?: number
  /** Partitions persisted side by side. Minimum 1. Default 4. */
  partitionsAtOnce?: number
  /** Milliseconds without a heartbeat after which the group gives a member's partitions to others. Default 10000. */
  sessionMaxMs?: number
  /** Milliseconds the members have to finish their batches when the group changes. Default 60000. */
  rebalanceMaxMs?: number
  /** Milliseconds without a fetch or a heartbeat after which a consumer counts as hung and is replaced. Default 60000. */
  hungAfterMs?: number
}

export type KafkaLog = Log & {
  /** Consumers that were replaced since the start, because they crashed or hung. */
  consumerRestarts(): number
}

/** Bytes of a flush's value; longer ones are cut into several messages of the same region. */
const FLUSH_BYTES_MAX = 262_144
/** Milliseconds for the first consumer to join, where brokers do not answer. */
const START_MAX_MS = 15_000
const ASK_AGAIN_MS = 200

export async function openKafkaLog(options: KafkaLogOptions, { clock, logger }: { clock: Clock; logger: KafkaLogger }): Promise<KafkaLog> {
  const { connection, regions } = options
  const requestMaxMs = connection.requestMaxMs ?? REQUEST_MAX_MS
  const topicPrefix = options.topicPrefix ?? 'tidemark'
  const stream = options.stream ?? 'history'
  const names = topicNames(topicPrefix, stream)
  const groupId = options.groupId ?? `${topicPrefix}-${stream === 'history' ? 'history' : 'thumbup'}`
  const kafka = makeClient(connection, logger)
  const appender = makeAppender(kafka, connection, clock, logger, {
    appendMaxMs: options.appendMaxMs ?? 5_000,
    waitingBytesMax: options.waitingBytesMax ?? 64 * 1_048_576,
  })
  const consumers = new Set<LogConsumer & { restarts(): number }>()
  let restartsBefore = 0
  let admin: Promise<Admin> | undefined
  let closing: Promise<void> | undefined

  try {
    await checkAtFirst()
  } catch (error) {
    const goOn =
      options.mayBeDown === true &&
      isTidemarkError(error) &&
      error.code === 'LOG_UNAVAILABLE' &&
      (options.mayBeUnfit === true || !isRefusal(error))
    if (!goOn) {
      await close()
      if (isTidemarkError(error) && isRefusal(error)) throw new TidemarkError('CONFIG_INVALID', error.message, { cause: error })
      throw error
    }
    logger.warn({ err: error }, 'Kafka does not answer; beginning without it')
  }
  return { appendFlushes, appendRewards, consumeFlushes, lag, check, close, consumerRestarts }

  async function appendFlushes(messages: Parameters<Log['appendFlushes']>[0]): Promise<void> {
    const outgoing = messages.flatMap((message) =>
      encodePieces(message, FLUSH_BYTES_MAX).map((value): Outgoing => ({ topic: names.flushes, region: message.region, value })),
    )
    if (outgoing.length > 0) await appender.append(outgoing).catch(asDown)
  }

  async function appendRewards(events: Parameters<Log['appendRewards']>[0]): Promise<void> {
    const outgoing = events.map((event): Outgoing => ({
      topic: names.rewards,
      region: regionOf(event.viewer, regions),
      value: Buffer.from(encodeReward(event)),
    }))
    if (outgoing.length > 0) await appender.append(outgoing)
  }

  async function consumeFlushes(hooks: Parameters<Log['consumeFlushes']>[0]): Promise<LogConsumer> {
    const collaborators = {
      park: (partition: number, undecodable: readonly Undecodable[]) => parkAll(appender, names, partition, undecodable),
      countPartitions: () => withAdmin((connected) => countPartitions(connection, connected, names)),
    }
    const told: ConsumerHooks = {
      persist: (batch) => hooks.persist(batch),
      parked: (reason, where) => hooks.parked?.(reason, { ...where, deadLetters: names.dead }),
    }
    const consumer = await superviseConsumer<FlushMessage>(kafka, connection, collaborators, told, clock, logger, {
      topic: names.flushes,
      groupId,
      regions,
      parts: (messages) => flushParts(messages, regions, options.batchKeysMax ?? 20_000),
      fromBeginning: true,
      partitionsAtOnce: options.partitionsAtOnce ?? 4,
      sessionMaxMs: options.sessionMaxMs ?? 10_000,
      rebalanceMaxMs: options.rebalanceMaxMs ?? 60_000,
      hungAfterMs: options.hungAfterMs ?? 60_000,
      startMaxMs: START_MAX_MS,
      mayBeDown: options.mayBeDown ?? false,
      mayBeUnfit: options.mayBeUnfit ?? false,
    })
    consumers.add(consumer)
    return {
      ownedRegions: consumer.ownedRegions,
      async stop() {
        await consumer.stop()
        if (consumers.delete(consumer)) restartsBefore += consumer.restarts()
      },
    }
  }

  function consumerRestarts(): number {
    return [...consumers].reduce((sum, consumer) => sum + consumer.restarts(), restartsBefore)
  }

  async function lag(): Promise<number> {
    return withAdmin((connected) => lagOf(connected, names.flushes, groupId))
  }

  async function check(): Promise<void> {
    await withAdmin((connected) => countPartitions(connection, connected, names)).catch(asDown)
  }

  function asDown(error: unknown): never {
    if (options.mayBeUnfit !== true || !isTidemarkError(error) || error.code !== 'TOPIC_MISSING') throw error
    throw new TidemarkError('LOG_UNAVAILABLE', error.message, { cause: error })
  }

  async function checkAtFirst(): Promise<void> {
    for (const began = clock.now(); ; await sleep(clock, ASK_AGAIN_MS)) {
      try {
        await check()
        return
      } catch (error) {
        if (!isMissing(error) || options.mayBeUnfit === true || clock.now() - began >= MISSING_MAX_MS) throw error
      }
    }
  }

  /** One connection for all questions; a new one after a question failed. */
  async function withAdmin<T>(work: (connected: Admin) => Promise<T>): Promise<T> {
    const current = (admin ??= connectAdmin())
    try {
      return await bounded(connection, requestMaxMs, async () => {
        const connected = await current
        return again(isWithoutCoordinator, () => work(connected), requestMaxMs)
      })
    } catch (error) {
      if (admin === current) admin = undefined
      current.then((connected) => connected.disconnect()).catch(() => undefined)
      throw error
    }
  }

  async function connectAdmin(): Promise<Admin> {
    const connected = kafka.admin()
    await connected.connect()
    return connected
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
      await appender.close()
      const last = admin
      admin = undefined
      await last?.then((connected) => connected.disconnect()).catch(() => undefined)
    })()
    return closing
  }
}
