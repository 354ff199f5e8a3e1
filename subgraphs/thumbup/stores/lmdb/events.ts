/**
 * Outgoing events of marks on LMDB: a table per kind, by number, with the newest million of each. The place of a group is stored beside
 * them, so a consumer continues where its group stopped. A look every `pollMs` finds events of other processes. Numbers are never used
 * again. The events of a forgotten business leave a gap, which consumers do not see.
 */
import type { Clock } from '../../../../core/clock.ts'
import { decodeCountEvent, decodeMarkEvent, encodeCountEvent, encodeMarkEvent } from '../event-codec.ts'
import type { CountEvent, EventConsumer, MarkEvent, MarkEvents } from '../events.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { appendAll, sequenceKey, sequenceOf } from '../../../../stores/lmdb/sequences.ts'
import { makePause } from '../../../../stores/lmdb/pause.ts'
import { makeEventRemoval } from './event-removal.ts'

export type LmdbMarkEventsOptions = {
  /** Kept events per kind, the newest. Minimum 1. Default 1,000,000. */
  keptMax?: number
  /** Events per call of a listener. Minimum 1. Default 5000. */
  batchMax?: number
  /** Milliseconds between two looks for events of other processes. Default 500. */
  pollMs?: number
}

const RETRY_MS = 200

/** The environment stays open when these are closed: others may use it. */
export function openLmdbMarkEvents(environment: Environment, clock: Clock, options: LmdbMarkEventsOptions = {}): MarkEvents {
  const { keptMax = 1_000_000, batchMax = 5_000, pollMs = 500 } = options
  const marks = environment.table('mark-events')
  const counts = environment.table('count-events')
  const counters = environment.table('event-counters')
  const groups = environment.table('event-groups')
  const consumers = new Set<EventConsumer & { wake(): void }>()
  const removal = makeEventRemoval(environment, [
    { table: marks, decode: decodeMarkEvent },
    { table: counts, decode: decodeCountEvent },
  ])
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('LOG_UNAVAILABLE', environment.folder, task)

  async function appendEvents(transitions: readonly MarkEvent[], counted: readonly CountEvent[]): Promise<void> {
    if (transitions.length + counted.length === 0) return
    const encoded = { marks: transitions.map(encodeMarkEvent), counts: counted.map(encodeCountEvent) }
    await environment.write(() => {
      if (encoded.marks.length > 0) appendAll(marks, counters, 'marks', encoded.marks, keptMax)
      if (encoded.counts.length > 0) appendAll(counts, counters, 'counts', encoded.counts, keptMax)
    })
    for (const consumer of consumers) consumer.wake()
  }

  async function consume<E>(
    name: 'marks' | 'counts',
    table: Bytes,
    group: string,
    decode: (bytes: Uint8Array) => E,
    onEvents: (events: readonly E[]) => Promise<void>,
  ): Promise<EventConsumer> {
    const placeKey = Buffer.from(`${name}:${group}`)
    const pause = makePause(clock)
    let readUntil = 0
    let place = await environment.write(() => {
      const found = groups.getBinary(placeKey)
      if (found !== undefined) return Buffer.from(found).readDoubleBE(0)
      const last = counters.getBinary(Buffer.from(name))?.readDoubleBE(0) ?? 0
      void groups.put(placeKey, numberBytes(last))
      return last
    })

    async function run(): Promise<void> {
      while (!pause.isEnded()) {
        const lookedAt = clock.now()
        const found = environment.read(() => [...table.getRange({ start: sequenceKey(place + 1), limit: batchMax })])
        const last = found[found.length - 1]
        if (last === undefined) {
          readUntil = lookedAt
          await pause.take(pollMs)
          continue
        }
        try {
          await onEvents(found.map(({ value }) => decode(value)))
          const next = sequenceOf(last.key)
          await environment.write(() => void groups.put(placeKey, numberBytes(next)))
          place = next
          if (found.length < batchMax) readUntil = lookedAt
        } catch {
          // The listener reports the reason. The same events come again.
          await pause.take(RETRY_MS)
        }
      }
    }

    const running = run()
    const consumer = {
      readUntil: () => readUntil,
      wake: pause.wake,
      async stop() {
        consumers.delete(consumer)
        pause.end()
        await running
      },
    }
    consumers.add(consumer)
    return consumer
  }

  return {
    appendEvents: (transitions, counted) => calling(() => appendEvents(transitions, counted)),
    consumeCounts: (group, onCounts) => calling(() => consume('counts', counts, group, decodeCountEvent, onCounts)),
    consumeMarks: (group, onMarks) => calling(() => consume('marks', marks, group, decodeMarkEvent, onMarks)),
    forgetEvents: (business, limit) => calling(() => removal.forgetEvents(business, limit)),
    countEvents: (business) => calling(() => removal.countEvents(business)),
    check: () => calling(() => environment.read(() => undefined)),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
    },
  }
}

function numberBytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleBE(value)
  return bytes
}
