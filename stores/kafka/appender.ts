/**
 * The appender sends messages to Kafka, one request at a time: while a request is under way, what comes meanwhile waits
 * and leaves together as the next one. So many small appends cost few requests, and a partition keeps the order of calls.
 *
 * After a failed send the producer is thrown away. An idempotent producer numbers the messages of each partition, and
 * kafkajs takes the numbers back when a send fails:
 *   1. A batch is sent, stored by the broker, and its answer is lost; kafkajs reports a failure and takes the numbers back.
 *   2. The next batch, with other messages, carries the same numbers.
 *   3. The broker takes it for a repetition of the first, drops it, and answers that it is stored.
 * An acknowledged message would be lost. A new producer has an id of its own, so its numbers mean nothing old; the price
 * is that a batch whose answer was lost may be stored twice, which the log's promise (at least once) allows.
 */
import { CompressionTypes, type IHeaders, type Kafka, type Message, type Producer } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { partitionOf } from '../../core/regions.ts'
import { type KafkaConnection, type KafkaLogger, RETRY, bounded } from './client.ts'
import { isLasting, isTooLarge, logError } from './errors.ts'
import { BATCH_BYTES_MAX } from './topics.ts'

export type Outgoing = { topic: string; region: number; value: Buffer | null; headers?: IHeaders }

export type AppenderOptions = {
  /** Milliseconds an append may take before it fails, retries included. */
  appendMaxMs: number
  /** Bytes that may wait to be sent; more are refused at once. */
  waitingBytesMax: number
}

export type Appender = {
  /** Resolves when all in-sync replicas have the messages. Rejects with LOG_UNAVAILABLE or TOPIC_MISSING. */
  append(messages: readonly Outgoing[]): Promise<void>
  /** Sends what waits, then disconnects. */
  close(): Promise<void>
}

/** The bytes that one request carries: below what a broker takes as one batch, for it may all be one partition's. */
const REQUEST_BYTES_MAX = BATCH_BYTES_MAX - 65_536
/** What a message costs beside its value: numbers, key, time. */
const OVERHEAD_BYTES = 64
const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 1_000

type Waiting = { messages: readonly Outgoing[]; bytes: number; isSettled: boolean; settle(error?: TidemarkError): void }

export function makeAppender(
  kafka: Kafka,
  connection: KafkaConnection,
  clock: Clock,
  logger: KafkaLogger,
  options: AppenderOptions,
): Appender {
  let producer: Promise<Producer> | undefined
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let lastError: unknown
  let sending: Promise<void> | undefined
  let isClosed = false
  /** Appends that go one by one, because one of them is too large for its topic and the others are not to fail with it. */
  let alone = 0

  async function append(messages: readonly Outgoing[]): Promise<void> {
    if (isClosed) throw new TidemarkError('LOG_UNAVAILABLE', 'the log is closed: this process is shutting down')
    await Promise.all(inRequests(messages).map(enqueue))
  }

  function enqueue({ messages, bytes }: { messages: readonly Outgoing[]; bytes: number }): Promise<void> {
    if (waitingBytes + bytes > options.waitingBytesMax) {
      const message = `${waitingBytes} bytes wait to be sent to Kafka, and at most ${options.waitingBytesMax} may: it takes them too slowly`
      return Promise.reject(new TidemarkError('LOG_UNAVAILABLE', message, { cause: lastError }))
    }
    return new Promise((resolve, reject) => {
      const timer = clock.after(options.appendMaxMs, () =>
        entry.settle(logError(connection, lastError ?? new Error(`not stored within ${options.appendMaxMs} ms`))),
      )
      const entry: Waiting = {
        messages,
        bytes,
        isSettled: false,
        settle(error) {
          if (entry.isSettled) return
          entry.isSettled = true
          timer.cancel()
          waitingBytes -= bytes
          if (error === undefined) resolve()
          else reject(error)
        },
      }
      waiting.push(entry)
      waitingBytes += bytes
      sending ??= sendAll()
    })
  }

  async function sendAll(): Promise<void> {
    for (let failures = 0; ;) {
      // Appends of the same turn leave together.
      await Promise.resolve()
      const entries = takeRequest()
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
        alone = entries.length
        waiting.unshift(...entries)
        continue
      }
      if (failures++ === 0) logger.warn({ err: error }, 'the log does not take messages; trying again')
      if (isLasting(error)) for (const entry of entries) entry.settle(logError(connection, error))
      waiting = [...entries, ...waiting].filter((entry) => !entry.isSettled)
      if (waiting.length > 0) await sleep(clock, Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10)))
    }
  }

  function takeRequest(): Waiting[] {
    waiting = waiting.filter((entry) => !entry.isSettled)
    let bytes = 0
    const isAlone = alone > 0
    if (isAlone) alone--
    const end = waiting.findIndex((entry, index) => ((bytes += entry.bytes) > REQUEST_BYTES_MAX || isAlone) && index > 0)
    const entries = end < 0 ? waiting : waiting.slice(0, end)
    waiting = end < 0 ? [] : waiting.slice(end)
    return entries
  }

  async function trySend(entries: readonly Waiting[]): Promise<unknown> {
    try {
      // Even a kafkajs that hangs gives way after the time that any append may take.
      await bounded(connection, options.appendMaxMs, async () => {
        producer ??= connectProducer()
        await (await producer).sendBatch({ acks: -1, compression: CompressionTypes.GZIP, topicMessages: topicMessages(entries) })
      })
      lastError = undefined
      return undefined
    } catch (error) {
      lastError = error
      dropProducer()
      return error
    }
  }

  async function connectProducer(): Promise<Producer> {
    const made = kafka.producer({
      idempotent: true,
      // Numbers must arrive in order; kafkajs does not see to that itself.
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

  function dropProducer(): void {
    const dropped = producer
    producer = undefined
    dropped?.then((made) => made.disconnect()).catch(() => undefined)
  }

  async function close(): Promise<void> {
    isClosed = true
    await sending
    const last = producer
    producer = undefined
    await last?.then((made) => made.disconnect()).catch(() => undefined)
  }

  return { append, close }
}

/** Cuts a long append so that each part fits one request. */
function inRequests(messages: readonly Outgoing[]): { messages: Outgoing[]; bytes: number }[] {
  const requests: { messages: Outgoing[]; bytes: number }[] = []
  let current: { messages: Outgoing[]; bytes: number } | undefined
  for (const message of messages) {
    const bytes = (message.value?.length ?? 0) + OVERHEAD_BYTES
    if (current === undefined || current.bytes + bytes > REQUEST_BYTES_MAX) requests.push((current = { messages: [], bytes: 0 }))
    current.messages.push(message)
    current.bytes += bytes
  }
  return requests
}

function topicMessages(entries: readonly Waiting[]): { topic: string; messages: Message[] }[] {
  const byTopic = new Map<string, Message[]>()
  for (const entry of entries) {
    for (const { topic, region, value, headers } of entry.messages) {
      const messages = byTopic.get(topic) ?? []
      if (messages.length === 0) byTopic.set(topic, messages)
      messages.push({ key: String(region), value, ...(headers === undefined ? {} : { headers }) })
    }
  }
  return Array.from(byTopic, ([topic, messages]) => ({ topic, messages }))
}
