/** Appends that wait to be sent, as requests of a bounded size. Each append has a deadline, and all together have a memory limit. */
import type { IHeaders, Message } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { type KafkaConnection } from './client.ts'
import { logError } from './errors.ts'
import type { TopicMessages } from './producer.ts'
import { BATCH_BYTES_MAX } from './topics.ts'

export type Outgoing = { topic: string; region: number; value: Buffer | null; headers?: IHeaders }

export type AppenderOptions = {
  /** Milliseconds an append may take before it fails, retries included. */
  appendMaxMs: number
  /** Bytes that may wait to be sent; more are refused at once. */
  waitingBytesMax: number
}

/** Maximum bytes of one request: below the batch limit of a broker, since all messages may be in one partition. */
const REQUEST_BYTES_MAX = BATCH_BYTES_MAX - 65_536
/** Overhead of a message beside its value: numbers, key, time. */
const OVERHEAD_BYTES = 64

export type WaitingAppend = { messages: readonly Outgoing[]; bytes: number; isSettled: boolean; settle(error?: TidemarkError): void }

export function makeAppendQueue(connection: KafkaConnection, clock: Clock, { appendMaxMs, waitingBytesMax }: AppenderOptions) {
  let waiting: WaitingAppend[] = []
  let waitingBytes = 0
  let lastError: unknown
  /** Appends sent one by one, because one of them is too large for its topic and must not fail the others. */
  let alone = 0

  function add({ messages, bytes }: Request): Promise<void> {
    if (waitingBytes + bytes > waitingBytesMax) {
      const message = `${waitingBytes} bytes wait to be sent to Kafka, above the limit of ${waitingBytesMax}: Kafka accepts them too slowly`
      return Promise.reject(new TidemarkError('LOG_UNAVAILABLE', message, { cause: lastError }))
    }
    return new Promise((resolve, reject) => {
      const timer = clock.after(appendMaxMs, () =>
        entry.settle(logError(connection, lastError ?? new Error(`not stored within ${appendMaxMs} ms`))),
      )
      const entry: WaitingAppend = {
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
    })
  }

  function unsettled(entries: readonly WaitingAppend[]): WaitingAppend[] {
    return entries.filter((entry) => !entry.isSettled)
  }

  return {
    /** Cuts a long append into requests. They have joined the queue when this returns; the promise ends when they are sent. */
    addAll: (messages: readonly Outgoing[]): Promise<unknown> => Promise.all(inRequests(messages).map(add)),

    /** The appends of the next request; none if none waits. */
    takeRequest(): WaitingAppend[] {
      waiting = unsettled(waiting)
      let bytes = 0
      const isAlone = alone > 0
      if (isAlone) alone--
      const end = waiting.findIndex((entry, index) => ((bytes += entry.bytes) > REQUEST_BYTES_MAX || isAlone) && index > 0)
      const entries = end < 0 ? waiting : waiting.slice(0, end)
      waiting = end < 0 ? [] : waiting.slice(end)
      return entries
    },

    /** These are sent again, one by one. */
    returnAlone(entries: readonly WaitingAppend[]): void {
      alone = entries.length
      waiting.unshift(...entries)
    },

    /** These are sent again, except those that have failed meanwhile. True if any append waits. */
    returnUnsettled(entries: readonly WaitingAppend[]): boolean {
      waiting = unsettled([...entries, ...waiting])
      return waiting.length > 0
    },

    /** The error that later failures name as their cause; undefined after a success. */
    noteError(error: unknown): void {
      lastError = error
    },
  }
}

type Request = { messages: Outgoing[]; bytes: number }

/** Cuts a long append so that each part fits one request. */
function inRequests(messages: readonly Outgoing[]): Request[] {
  const requests: Request[] = []
  let current: Request | undefined
  for (const message of messages) {
    const bytes = (message.value?.length ?? 0) + OVERHEAD_BYTES
    if (current === undefined || current.bytes + bytes > REQUEST_BYTES_MAX) requests.push((current = { messages: [], bytes: 0 }))
    current.messages.push(message)
    current.bytes += bytes
  }
  return requests
}

export function topicMessagesOf(entries: readonly WaitingAppend[]): TopicMessages[] {
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
