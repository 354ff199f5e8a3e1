/** Sample counters of the suites: narrow ones, so that they saturate, and a wide one. */
import type { Subject } from '../../../core/domain.ts'
import type { CountEvent, CounterSchemas, Counts } from '../../../subgraphs/feed/model/counts.ts'
import { makeCounterSchema } from '../../../subgraphs/feed/packed/counter-schema.ts'
import type { CounterStore } from '../../../subgraphs/feed/stores/counter-store.ts'
import type { StoreSubject } from '../opened-store.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'

export type CounterStoreSubject = StoreSubject<CounterStore>

export const COUNTER_REGIONS = 16
export const SCHEMAS: CounterSchemas = new Map([
  [4, makeCounterSchema<string>({ repost: 3, comment: 5, like: 24, read: 32 })],
  [9, makeCounterSchema<string>({ view: 48 })],
])
export const ZERO: Counts = { repost: 0, comment: 0, like: 0, read: 0 }

let events = 0

export function freshSubject(named = false): Subject {
  return { business: 4, oid: named ? freshNamedViewer() : freshViewer() }
}

export function eventOf(subject: Subject, delta: number, counter = 'read', id = `event-${events++}`): CountEvent {
  return { id, subject, counter, delta }
}
