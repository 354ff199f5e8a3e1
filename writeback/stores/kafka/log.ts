/**
 * The log on Kafka. A region's messages go to partition `region mod partitions`; a member of the persisting group owns the regions of its
 * partitions. `migrateKafka` creates the topics (topics.ts describes them), never this file.
 *
 * Opening needs an answer. Missing topics, wrong credentials (CONFIG_INVALID) and unreachable brokers are errors then; with `mayBeDown`, a
 * process may start with unreachable brokers. A topic is reported as missing after some seconds. Later, every operation is retried within
 * its time limit.
 */
import { type Clock, sleep } from '../../../core/clock.ts'
import { regionOf } from '../../../core/regions.ts'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import type { Log } from '../../log.ts'
import type { Outgoing } from '../../../stores/kafka/append-queue.ts'
import { makeAppender } from '../../../stores/kafka/appender.ts'
import { lagOf } from '../../../stores/kafka/asking.ts'
import { type KafkaLogger, makeClient } from '../../../stores/kafka/client.ts'
import { parkAll } from '../../../stores/kafka/dead-letters.ts'
import { MISSING_MAX_MS, isMissing, isRefusal } from '../../../stores/kafka/errors.ts'
import { countPartitions, topicNames } from '../../../stores/kafka/topics.ts'
import { encodeReward } from '../../flush-codec.ts'
import { makeAdminConnection } from '../../../stores/kafka/admin-connection.ts'
import { makeFlushConsumers } from './flush-consumers.ts'
import { encodePieces } from './flushes.ts'
import type { KafkaLogOptions } from './log-options.ts'

export type KafkaLog = Log & {
  /** Consumers that were replaced since the start, because they crashed or hung. */
  consumerRestarts(): number
}

/** Maximum bytes of a flush's value; longer flushes become several messages of the same region. */
const FLUSH_BYTES_MAX = 262_144
const ASK_AGAIN_MS = 200

export async function openKafkaLog(options: KafkaLogOptions, { clock, logger }: { clock: Clock; logger: KafkaLogger }): Promise<KafkaLog> {
  const { connection, regions } = options
  const topicPrefix = options.topicPrefix ?? 'tidemark'
  const stream = options.stream ?? 'history'
  const names = topicNames(topicPrefix, stream)
  const groupId = options.groupId ?? `${topicPrefix}-${stream === 'marks' ? 'thumbup' : stream}`
  const kafka = makeClient(connection, logger)
  const appender = makeAppender(kafka, connection, clock, logger, {
    appendMaxMs: options.appendMaxMs ?? 5_000,
    waitingBytesMax: options.waitingBytesMax ?? 64 * 1_048_576,
  })
  const admin = makeAdminConnection(kafka, connection)
  const withAdmin = admin.ask
  const consumers = makeFlushConsumers(kafka, connection, clock, logger, {
    options,
    names,
    groupId,
    park: (partition, undecodable) => parkAll(appender, names, partition, undecodable),
    countPartitions: () => withAdmin((connected) => countPartitions(connection, connected, names)),
  })
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
    logger.warn({ err: error }, 'Kafka does not answer; starting without it')
  }
  return { appendFlushes, appendRewards, consumeFlushes: consumers.consume, lag, check, close, consumerRestarts: consumers.restarts }

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

  function close(): Promise<void> {
    closing ??= (async () => {
      await consumers.stop()
      await appender.close()
      await admin.close()
    })()
    return closing
  }
}
