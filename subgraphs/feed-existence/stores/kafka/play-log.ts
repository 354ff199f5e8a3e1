/**
 * The log of plays on Kafka: topic `.plays`, with a viewer's plays in partition `region mod partitions`. A call appends one message per
 * region, or a few if it is long.
 */
import type { Admin } from 'kafkajs'
import type { Clock } from '../../../../core/clock.ts'
import type { Play } from '../../../../core/domain.ts'
import { decodePlays, encodePlays } from '../../model/play-codec.ts'
import { regionOf } from '../../../../core/regions.ts'
import type { PlayHooks, PlayLog } from '../play-log.ts'
import type { Outgoing } from '../../../../stores/kafka/append-queue.ts'
import { makeAppender } from '../../../../stores/kafka/appender.ts'
import { askOnce, endOf, hasCommitted, lagOf } from '../../../../stores/kafka/asking.ts'
import { partsOf, type Decoded } from '../../../../stores/kafka/batches.ts'
import { type KafkaConnection, type KafkaLogger, makeClient } from '../../../../stores/kafka/client.ts'
import { superviseConsumer } from '../../../../stores/kafka/consumer.ts'
import { parkAll } from '../../../../stores/kafka/dead-letters.ts'
import { countPartitions, topicNames } from '../../../../stores/kafka/topics.ts'
import type { LogConsumer } from '../../../../core/log-consumer.ts'

export type KafkaPlayLogOptions = {
  connection: KafkaConnection
  /** Number of regions of this deployment. */
  regions: number
  /** Prefix of the topics' names. Default "tidemark". */
  topicPrefix?: string
  /** Milliseconds an append may take before it fails, retries included. Minimum 100. Default 5000. */
  appendMaxMs?: number
  /** Maximum plays per call of `stage`, unless a single message has more. Minimum 1. Default 5000. */
  batchMax?: number
  /** Milliseconds without a heartbeat after which the group reassigns a member's partitions. Default 10000. */
  sessionMaxMs?: number
}

const WAITING_BYTES_MAX = 64 * 1_048_576
const START_MAX_MS = 15_000
const PLAYS_PER_MESSAGE_MAX = 2_000

/** Connects with the first call. If Kafka does not answer, only calls fail. */
export function openKafkaPlayLog(options: KafkaPlayLogOptions, { clock, logger }: { clock: Clock; logger: KafkaLogger }): PlayLog {
  const { connection, regions, topicPrefix = 'tidemark', batchMax = 5_000 } = options
  const kafka = makeClient(connection, logger)
  const ask = <T>(work: (admin: Admin) => Promise<T>): Promise<T> => askOnce(kafka, connection, work)
  const names = topicNames(topicPrefix, 'plays')
  const groupId = `${topicPrefix}-existence`
  const appender = makeAppender(kafka, connection, clock, logger, {
    appendMaxMs: options.appendMaxMs ?? 5_000,
    waitingBytesMax: WAITING_BYTES_MAX,
  })
  const consumers = new Set<LogConsumer>()

  async function appendPlays(plays: readonly Play[]): Promise<void> {
    const byRegion = Map.groupBy(plays, ({ viewer }) => regionOf(viewer, regions))
    const outgoing: Outgoing[] = []
    for (const [region, some] of byRegion) {
      for (let start = 0; start < some.length; start += PLAYS_PER_MESSAGE_MAX) {
        const value = Buffer.from(encodePlays(some.slice(start, start + PLAYS_PER_MESSAGE_MAX)))
        outgoing.push({ topic: names.flushes, region, value })
      }
    }
    if (outgoing.length > 0) await appender.append(outgoing)
  }

  async function consumePlays(hooks: PlayHooks): Promise<LogConsumer> {
    const consumer = await superviseConsumer<Play[]>(
      kafka,
      connection,
      {
        park: (partition, undecodable) => parkAll(appender, names, partition, undecodable),
        countPartitions: () => ask((admin) => countPartitions(connection, admin, names)),
      },
      {
        persist: ({ messages }) => hooks.stage(messages.flat()),
        parked: (reason, where) => hooks.parked?.(reason, { ...where, deadLetters: names.dead }),
      },
      clock,
      logger,
      {
        topic: names.flushes,
        groupId,
        regions,
        parts: (messages) => partsOf(messages, decodeOne, (plays) => plays.length, batchMax),
        fromBeginning: true,
        partitionsAtOnce: 4,
        sessionMaxMs: options.sessionMaxMs ?? 10_000,
        rebalanceMaxMs: 60_000,
        hungAfterMs: 60_000,
        startMaxMs: START_MAX_MS,
        mayBeDown: true,
      },
    )
    const running: LogConsumer = {
      ownedRegions: consumer.ownedRegions,
      async stop() {
        consumers.delete(running)
        await consumer.stop()
      },
    }
    consumers.add(running)
    return running
  }

  return {
    appendPlays,
    consumePlays,
    lag: () => ask((admin) => lagOf(admin, names.flushes, groupId)),
    end: () => ask((admin) => endOf(admin, names.flushes)),
    isStaged: (end) => ask((admin) => hasCommitted(admin, names.flushes, groupId, end)),
    check: async () => void (await ask((admin) => countPartitions(connection, admin, names))),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
      await appender.close()
    },
  }
}

function decodeOne({ value }: { value: Buffer | null }): Decoded<Play[]> {
  try {
    if (value === null) return { reason: 'the message has no value' }
    const { plays, wrong } = decodePlays(value)
    return { content: plays, ...(wrong && { apart: { value: Buffer.from(wrong.bytes), reason: wrong.reason } }) }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}
