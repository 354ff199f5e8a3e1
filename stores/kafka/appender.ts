/**
 * The appender sends messages to Kafka, one request at a time. Messages that arrive during a request wait, and leave together as the next
 * request. Many small appends therefore cost few requests, and a partition keeps the order of calls.
 *
 * After a failed send the producer is discarded. An idempotent producer numbers the messages of each partition, and kafkajs takes the
 * numbers back when a send fails:
 *
 * 1. A batch is sent and stored by the broker, but its answer is lost. kafkajs reports a failure and takes the numbers back.
 * 2. The next batch, with other messages, carries the same numbers.
 * 3. The broker takes it for a repetition of the first, drops it, and answers that it is stored.
 *
 * An acknowledged message would be lost. A new producer has its own id, so its numbers cannot repeat old ones. A batch whose answer was
 * lost may then be stored twice, which the log's promise (at least once) allows.
 */
import type { Kafka } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { makeAppendQueue, topicMessagesOf, type AppenderOptions, type Outgoing, type WaitingAppend } from './append-queue.ts'
import type { KafkaConnection, KafkaLogger } from './client.ts'
import { isLasting, isTooLarge, logError } from './errors.ts'
import { makeProducer } from './producer.ts'

export type Appender = {
  /** Resolves when all in-sync replicas have the messages. Rejects with LOG_UNAVAILABLE or TOPIC_MISSING. */
  append(messages: readonly Outgoing[]): Promise<void>
  /** Sends the waiting messages, then disconnects. */
  close(): Promise<void>
}

const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 1_000

export function makeAppender(
  kafka: Kafka,
  connection: KafkaConnection,
  clock: Clock,
  logger: KafkaLogger,
  options: AppenderOptions,
): Appender {
  const producer = makeProducer(kafka, connection, options.appendMaxMs)
  const queue = makeAppendQueue(connection, clock, options)
  let sending: Promise<void> | undefined
  let isClosed = false

  async function append(messages: readonly Outgoing[]): Promise<void> {
    if (isClosed) throw new TidemarkError('LOG_UNAVAILABLE', 'the log is closed: this process is shutting down')
    const sent = queue.addAll(messages)
    sending ??= sendAll()
    await sent
  }

  async function sendAll(): Promise<void> {
    for (let failures = 0; ;) {
      // Appends of the same turn leave together.
      await Promise.resolve()
      const entries = queue.takeRequest()
      if (entries.length === 0) {
        sending = undefined
        return
      }
      const error = await trySend(entries)
      if (error === undefined) {
        for (const entry of entries) entry.settle()
        if (failures > 0) logger.info({ failures }, 'the log takes messages again')
        failures = 0
        continue
      }
      if (isTooLarge(error) && entries.length > 1) {
        queue.returnAlone(entries)
        continue
      }
      if (failures++ === 0) logger.warn({ err: error }, 'Kafka does not accept messages; trying again')
      if (isLasting(error)) for (const entry of entries) entry.settle(logError(connection, error))
      if (queue.returnUnsettled(entries)) await sleep(clock, Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10)))
    }
  }

  async function trySend(entries: readonly WaitingAppend[]): Promise<unknown> {
    const error = await producer.send(topicMessagesOf(entries)).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    queue.noteError(error)
    return error
  }

  async function close(): Promise<void> {
    isClosed = true
    await sending
    await producer.close()
  }

  return { append, close }
}
