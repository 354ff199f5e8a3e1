/**
 * The outgoing events, read as a consumer would: from the oldest, each id once. Every transition must be there. The events of a key, by
 * version, form a chain from NONE to the stored mark, and each begins with the mark at which the previous one ended. Every version of a
 * subject's counts has an event, up to the stored version.
 */
import { randomUUID } from 'node:crypto'
import type { Mark } from '../../../core/domain.ts'
import { decodeCountEvent, decodeMarkEvent } from '../../../subgraphs/thumbup/stores/event-codec.ts'
import { keyText } from '../../../core/progress-key.ts'
import { makeClient } from '../../../stores/kafka/client.ts'
import { eventTopicNames } from '../../../stores/kafka/topics.ts'
import type { CountEvent, MarkEvent } from '../../../subgraphs/thumbup/stores/events.ts'

export type Events = {
  /** Each event once. */
  marks: MarkEvent[]
  counts: CountEvent[]
  /** Repeated events. */
  repeated: number
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const READ_MAX_MS = 60_000

export async function readEvents(brokers: readonly string[], topicPrefix: string): Promise<Events> {
  const kafka = makeClient({ brokers }, silent)
  const topics = eventTopicNames(topicPrefix)
  const marks = new Map<string, MarkEvent>()
  const counts = new Map<string, CountEvent>()
  let read = 0
  const waiting = await endsOf(kafka, [topics.marks, topics.counts])
  const consumer = kafka.consumer({ groupId: `chaos-marks-${randomUUID()}` })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [topics.marks, topics.counts], fromBeginning: true })
    const deadline = Date.now() + READ_MAX_MS
    await new Promise<void>((resolve, reject) => {
      const patience = setInterval(() => {
        if (waiting.size === 0) resolve()
        else if (Date.now() > deadline) reject(new Error(`events of ${[...waiting.keys()].join(', ')} could not be read`))
        else return
        clearInterval(patience)
      }, 20)
      void consumer.run({
        eachBatch({ batch: { topic, partition, messages } }) {
          for (const { offset, value } of messages) {
            read++
            if (topic === topics.marks) {
              const event = decodeMarkEvent(value as Buffer)
              marks.set(event.id, event)
            } else {
              const event = decodeCountEvent(value as Buffer)
              counts.set(event.id, event)
            }
            if (Number(offset) + 1 >= (waiting.get(`${topic}/${partition}`) ?? 0)) waiting.delete(`${topic}/${partition}`)
          }
          return Promise.resolve()
        },
      })
    })
  } finally {
    await consumer.disconnect()
  }
  return { marks: [...marks.values()], counts: [...counts.values()], repeated: read - marks.size - counts.size }
}

/** The end offsets of partitions that are not empty. */
async function endsOf(kafka: ReturnType<typeof makeClient>, topics: readonly string[]): Promise<Map<string, number>> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const ends = new Map<string, number>()
    for (const topic of topics) {
      for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
        if (Number(high) > 0) ends.set(`${topic}/${partition}`, Number(high))
      }
    }
    return ends
  } finally {
    await admin.disconnect()
  }
}

/** Sentences about missing links. `stored`: the marks in the record store, by `keyText`. */
export function gapsOfMarks(events: readonly MarkEvent[], stored: ReadonlyMap<string, Mark>): string[] {
  const gaps: string[] = []
  const chains = Map.groupBy(events, keyText)
  for (const [text, chain] of chains) {
    let mark: Mark = 'NONE'
    for (const event of chain.sort((a, b) => a.version - b.version)) {
      if (event.old !== mark) gaps.push(`events of ${text}: ${event.id} begins with ${event.old}, the one before ended with ${mark}`)
      mark = event.mark
    }
    const last = stored.get(text) ?? 'NONE'
    if (mark !== last) gaps.push(`events of ${text} end with ${mark}, and ${last} is stored`)
  }
  for (const [text, mark] of stored) if (mark !== 'NONE' && !chains.has(text)) gaps.push(`events of ${text}: none, and ${mark} is stored`)
  return gaps
}

/** Sentences about versions without an event. `stored`: the version of each subject's counts. */
export function gapsOfCounts(events: readonly CountEvent[], stored: ReadonlyMap<string, number>): string[] {
  const told = Map.groupBy(events, ({ business, oid }) => `${business}:${oid}`)
  return Array.from(stored).flatMap(([text, version]) => {
    const versions = new Set(told.get(text)?.map(({ counts }) => counts.version))
    const missing = Array.from({ length: version }, (_, index) => index + 1).filter((each) => !versions.has(each))
    return missing.length === 0 ? [] : [`counts of ${text}: versions ${missing.slice(0, 5).join(', ')} of ${version} have no event`]
  })
}
