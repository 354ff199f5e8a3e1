/** One process's ports to the models of the record store and of the counters: each call happens at one instant that the gate chooses. */
import type { Subject } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { CounterRecords } from '../../../subgraphs/feed/stores/counter-records.ts'
import type { CounterStore } from '../../../subgraphs/feed/stores/counter-store.ts'
import type { FeedRecords } from '../../../subgraphs/feed/stores/record-store.ts'
import {
  makeCountersState,
  openModelCounterRecords,
  openModelCounterStore,
  type CounterRecordsState,
  type CountersState,
} from '../../models/feed/counter-store-model.ts'
import { makeFeedRecordsState, openModelFeedRecords, type FeedRecordsState } from '../../models/feed/record-store-model.ts'
import { atOnce, type Gate } from '../gate.ts'
import { makeRegionCalls } from './region-calls.ts'

export type RecordFaults = {
  /** Counts each event, however often it comes. */
  countsAgain?: boolean
  /** Says that each part of a list is its last one. */
  endsLists?: boolean
}

export type RecordStates = {
  rows: FeedRecordsState
  totals: CounterRecordsState
  counters: CountersState
  faults: RecordFaults
  events: number
}

export function makeRecordStates(faults: RecordFaults): RecordStates {
  return { rows: makeFeedRecordsState(), totals: new Map(), counters: makeCountersState(), faults, events: 0 }
}

export function openSimulatedFeedRecords({ rows, faults }: RecordStates, gate: Gate): FeedRecords {
  const model = openModelFeedRecords(rows, (name, args, act) => atOnce(gate, 'records', name, args, act))
  const records: FeedRecords = { ...model, readsAtOnceMax: 2 }
  if (faults.endsLists !== true) return records
  return {
    ...records,
    listOutboxMany: async (...asked) => (await records.listOutboxMany(...asked)).map(({ ids }) => ({ ids, hasMore: false })),
  }
}

/** `lost`: as in the feed's hot store, whose servers the counters share. A call happens at one instant, also if a part of it fails. */
export function openSimulatedCounters(
  states: RecordStates,
  regions: number,
  lost: ReadonlySet<number> | undefined,
  gate: Gate,
): { hot: CounterStore; records: CounterRecords } {
  const { together } = makeRegionCalls(gate, regions, lost)
  const model = openModelCounterStore(states.counters, regions, (name, args, act) => together(name, regionsIn(args[0], regions), act))
  const hot: CounterStore = { ...model, ...(lost === undefined ? {} : { partOf: (oid) => regionOf(oid, regions) }) }
  if (states.faults.countsAgain === true)
    hot.adjust = (events, now) =>
      model.adjust(
        events.map((event) => ({ ...event, id: `${event.id} ${++states.events}` })),
        now,
      )
  return { hot, records: openModelCounterRecords(states.totals, (name, args, act) => atOnce(gate, 'records', name, args, act)) }
}

/** The regions of the subjects that a call names, or the regions themselves. */
function regionsIn(items: unknown, regions: number): number[] {
  if (!Array.isArray(items)) return [0]
  const all = (items as (number | Subject | { subject: Subject })[]).map((item) => {
    if (typeof item === 'number') return item
    return regionOf('subject' in item ? item.subject.oid : item.oid, regions)
  })
  return [...new Set(all)]
}
