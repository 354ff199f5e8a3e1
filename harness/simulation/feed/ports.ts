/** The ports of one process to the model stores, and the stores of a world. */
import { withFollowChanges } from '../../../cli/stores/follow-changes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Layouts } from '../../../cache/generations.ts'
import type { MarkStoreState } from '../../models/thumbup/hot-store-model.ts'
import type { MarkRecordsState } from '../../models/thumbup/record-rows.ts'
import type { Gate } from '../gate.ts'
import { openModelLog, type LogState, type Member } from '../model-log.ts'
import { makeQuestions } from '../processes.ts'
import { openModelCountCache, type CountCacheState } from '../thumbup/model-count-cache.ts'
import { openModelMarkEvents, type MarkEventsState } from '../thumbup/model-events.ts'
import { openSimulatedMarkRecords } from '../thumbup/model-records.ts'
import { openModelMarkStore } from '../thumbup/model-store.ts'
import { plantInLongsets, plantInRecords, type ProcessFaults } from './faults.ts'
import { openModelFeedStore, type FeedWorldState } from './model-hot.ts'
import { openModelLongsets, type LongsetState } from './model-longsets.ts'
import type { Nodes } from './model-nodes.ts'
import { openSimulatedCounters, openSimulatedFeedRecords, type RecordStates } from './model-records.ts'

export type FeedWorldStores = {
  hot: FeedWorldState
  longsets: LongsetState
  records: RecordStates
  log: LogState
  /** Of follows. */
  marks: { hot: MarkStoreState; cache: CountCacheState; log: LogState; records: MarkRecordsState; events: MarkEventsState }
  nodes: Nodes
  layouts: Layouts
  /** From each membership in the group of a log to all memberships of its process. */
  groups: Map<Member, Member[]>
}

export type FeedPorts = ReturnType<typeof openFeedPorts>

/** `keepMs`: of the feed's hot store. */
export function openFeedPorts(stores: FeedWorldStores, gate: Gate, clock: Clock, keepMs: number, faults: ProcessFaults) {
  const { noting, checked, settled } = makeQuestions()
  const members: Member[] = []

  /** Notes the calls, because a call that fails early leaves others under way. */
  function noted<S extends object>(store: S): S {
    const methods = Object.entries(store as Record<string, unknown>).filter(
      ([name, method]) => typeof method === 'function' && name !== 'partOf',
    )
    return { ...store, ...Object.fromEntries(methods.map(([name, method]) => [name, noting(method as () => Promise<unknown>)])) }
  }

  function openLog(state: LogState) {
    return checked(
      openModelLog(state, gate, clock, (member) => {
        members.push(member)
        stores.groups.set(member, members)
      }),
    )
  }

  const hot = noted(openModelFeedStore(stores.hot, gate))
  const longsets = plantInLongsets(noted(openModelLongsets(stores.longsets, stores.hot.regions, stores.hot.lost, gate)), faults)
  const counters = openSimulatedCounters(stores.records, stores.hot.regions, stores.hot.lost, gate)
  return {
    ...{ hot, longsets, settled },
    records: plantInRecords(noted(openSimulatedFeedRecords(stores.records, gate)), faults),
    counters: { hot: noted(counters.hot), records: noted(counters.records) },
    log: openLog(stores.log),
    marks: {
      hot: noted(withFollowChanges(openModelMarkStore(stores.marks.hot, gate), { longsets, hot }, clock, keepMs)),
      cache: checked(openModelCountCache(stores.marks.cache, gate)),
      log: openLog(stores.marks.log),
      records: noted(openSimulatedMarkRecords(stores.marks.records, gate, {}, () => undefined)),
      events: openModelMarkEvents(stores.marks.events, gate),
    },
    /** One of its memberships. */
    member: (): Member | undefined => members[0],
  }
}
