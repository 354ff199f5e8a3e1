/**
 * Outgoing events of marks on Kafka: topic `.mark` by the viewer's region, topic `.count` by the subject's, so that events of one key stay
 * in order. A message is one event (schema/records.proto).
 */
import type { Admin } from 'kafkajs'
import type { Clock } from '../../../../core/clock.ts'
import { decodeCountEvent, decodeMarkEvent, encodeCountEvent, encodeMarkEvent } from '../event-codec.ts'
import { fnv1a, regionOf } from '../../../../core/regions.ts'
import type { CountEvent, EventConsumer, MarkEvent, MarkEvents } from '../events.ts'
import type { Outgoing } from '../../../../stores/kafka/append-queue.ts'
import { makeAppender } from '../../../../stores/kafka/appender.ts'
import { askOnce } from '../../../../stores/kafka/asking.ts'
import { partsOf, type Decoded } from '../../../../stores/kafka/batches.ts'
import { type KafkaConnection, type KafkaLogger, makeClient } from '../../../../stores/kafka/client.ts'
import { superviseConsumer } from '../../../../stores/kafka/consumer.ts'
import { parkAll } from '../../../../stores/kafka/dead-letters.ts'
import { countPartitions, eventTopicNames, topicNames } from '../../../../stores/kafka/topics.ts'
import { beginNow } from '../../../../stores/kafka/group-offsets.ts'

export type KafkaMarkEventsOptions = {
  connection: KafkaConnection
  /** Shards of viewers of this deployment. */
  regions: number
  /** The prefix of the topics. Default "tidemark". */
  topicPrefix?: string
  /** Milliseconds an append may take before it fails, retries included. Minimum 100. Default 5000. */
  appendMaxMs?: number
  /** Events per call of a listener. Minimum 1. Default 5000. */
  batchMax?: number
}

const WAITING_BYTES_MAX = 64 * 1_048_576
const START_MAX_MS = 15_000

/** Connects with the first call. If Kafka does not answer, only calls fail. */
export function openKafkaMarkEvents(options: KafkaMarkEventsOptions, { clock, logger }: { clock: Clock; logger: KafkaLogger }): MarkEvents {
  const { connection, regions, topicPrefix = 'tidemark', batchMax = 5_000 } = options
  const kafka = makeClient(connection, logger)
  const ask = <T>(work: (admin: Admin, givenUp: AbortSignal) => Promise<T>): Promise<T> => askOnce(kafka, connection, work)
  const topics = eventTopicNames(topicPrefix)
  const appender = makeAppender(kafka, connection, clock, logger, {
    appendMaxMs: options.appendMaxMs ?? 5_000,
    waitingBytesMax: WAITING_BYTES_MAX,
  })
  const consumers = new Set<EventConsumer>()

  async function appendEvents(marks: readonly MarkEvent[], counts: readonly CountEvent[]): Promise<void> {
    const outgoing = [
      ...marks.map((event): Outgoing => ({
        topic: topics.marks,
        region: regionOf(event.viewer, regions),
        value: Buffer.from(encodeMarkEvent(event)),
      })),
      ...counts.map((event): Outgoing => ({
        topic: topics.counts,
        region: fnv1a(`${event.business}:${event.oid}`) % regions,
        value: Buffer.from(encodeCountEvent(event)),
      })),
    ]
    if (outgoing.length > 0) await appender.append(outgoing)
  }

  async function consume<E>(
    topic: string,
    group: string,
    decode: (bytes: Uint8Array) => E,
    onEvents: (events: readonly E[]) => Promise<void>,
  ): Promise<EventConsumer> {
    const groupId = `${topicPrefix}-${group}`
    let readUntil = 0
    await ask((admin, givenUp) => beginNow(kafka, admin, groupId, topic, givenUp)).catch((error: unknown) =>
      logger.warn({ err: error, group: groupId }, 'Kafka does not answer: a new group begins with the oldest kept event'),
    )
    const decodeOne = ({ value }: { value: Buffer | null }): Decoded<E> => {
      try {
        if (value !== null) return { content: decode(value) }
        return { reason: 'the message has no value' }
      } catch (error) {
        return { reason: error instanceof Error ? error.message : String(error) }
      }
    }
    const consumer = await superviseConsumer<E>(
      kafka,
      connection,
      {
        park: (partition, undecodable) => parkAll(appender, topicNames(topicPrefix), partition, undecodable),
        countPartitions: () => ask((admin) => countPartitions(connection, admin, topicNames(topicPrefix))),
      },
      {
        persist: ({ messages }) => onEvents(messages),
        parked: (reason, where) => logger.warn({ ...where, reason }, 'an event of marks cannot be read: it is quarantined'),
        caughtUp(until) {
          readUntil = Math.max(readUntil, until)
        },
      },
      clock,
      logger,
      {
        topic,
        groupId,
        regions,
        parts: (messages) => partsOf(messages, decodeOne, () => 1, batchMax),
        fromBeginning: true,
        partitionsAtOnce: 4,
        sessionMaxMs: 10_000,
        rebalanceMaxMs: 60_000,
        hungAfterMs: 60_000,
        startMaxMs: START_MAX_MS,
        mayBeDown: true,
      },
    )
    const running: EventConsumer = {
      readUntil: () => readUntil,
      async stop() {
        consumers.delete(running)
        await consumer.stop()
      },
    }
    consumers.add(running)
    return running
  }

  return {
    appendEvents,
    consumeCounts: (group, onCounts) => consume(topics.counts, group, decodeCountEvent, onCounts),
    consumeMarks: (group, onMarks) => consume(topics.marks, group, decodeMarkEvent, onMarks),
    check: async () => void (await ask((admin) => admin.listTopics())),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
      await appender.close()
    },
  }
}
