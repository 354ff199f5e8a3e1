/**
 * The idempotent producer of an appender. After a failed send the producer is discarded: it numbers the messages of each partition, and
 * kafkajs takes the numbers back when a send fails (`appender.ts` shows the order of events).
 */
import { CompressionTypes, type Kafka, type Message, type Producer } from 'kafkajs'
import { partitionOf } from '../../core/regions.ts'
import { type KafkaConnection, RETRY, bounded } from './client.ts'

export type TopicMessages = { topic: string; messages: Message[] }

/** `sendMaxMs`: milliseconds for a send and for the connection it may need. */
export function makeProducer(kafka: Kafka, connection: KafkaConnection, sendMaxMs: number) {
  let producer: Promise<Producer> | undefined

  async function connectProducer(): Promise<Producer> {
    const made = kafka.producer({
      idempotent: true,
      // Numbers must arrive in order; kafkajs does not ensure that itself.
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      retry: RETRY,
      createPartitioner:
        () =>
        ({ message, partitionMetadata }) =>
          partitionOf(Number(message.key), partitionMetadata.length),
    })
    await made.connect()
    return made
  }

  function drop(): Promise<void> {
    const dropped = producer
    producer = undefined
    return dropped?.then((made) => made.disconnect()).catch(() => undefined) ?? Promise.resolve()
  }

  return {
    async send(topicMessages: TopicMessages[]): Promise<void> {
      try {
        // The time limit of an append also ends a send in which kafkajs hangs.
        await bounded(connection, sendMaxMs, async () => {
          producer ??= connectProducer()
          await (await producer).sendBatch({ acks: -1, compression: CompressionTypes.GZIP, topicMessages })
        })
      } catch (error) {
        void drop()
        throw error
      }
    },

    close: drop,
  }
}
