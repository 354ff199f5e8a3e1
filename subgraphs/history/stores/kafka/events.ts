/** Outgoing events of progress on Kafka: topic `.progress`, in the partition of the viewer's region. A message is one event. */
import type { Clock } from '../../../../core/clock.ts'
import { regionOf } from '../../../../core/regions.ts'
import { makeAppender } from '../../../../stores/kafka/appender.ts'
import { type KafkaConnection, type KafkaLogger, makeClient } from '../../../../stores/kafka/client.ts'
import { eventTopicNames } from '../../../../stores/kafka/topics.ts'
import { encodeProgressEvent } from '../progress-event-codec.ts'
import type { ProgressEvents } from '../progress-events.ts'

export type KafkaProgressEventsOptions = {
  connection: KafkaConnection
  /** Shards of viewers of this deployment. */
  regions: number
  topicPrefix: string
}

const APPEND_MAX_MS = 5_000
const WAITING_BYTES_MAX = 64 * 1_048_576

/** Connects with the first call. If Kafka does not answer, only calls fail. */
export function openKafkaProgressEvents(
  { connection, regions, topicPrefix }: KafkaProgressEventsOptions,
  { clock, logger }: { clock: Clock; logger: KafkaLogger },
): ProgressEvents {
  const topic = eventTopicNames(topicPrefix).progress
  const limits = { appendMaxMs: APPEND_MAX_MS, waitingBytesMax: WAITING_BYTES_MAX }
  const appender = makeAppender(makeClient(connection, logger), connection, clock, logger, limits)
  return {
    append: (events) =>
      appender.append(
        events.map((event) => ({
          topic,
          region: regionOf('key' in event ? event.key.viewer : event.viewer, regions),
          value: Buffer.from(encodeProgressEvent(event)),
        })),
      ),
    close: () => appender.close(),
  }
}
