/**
 * Counts events and reads totals. Both go to the hot store. A subject that it does not know is filled from the record store: before its
 * first event, and in the background after a read that found counts. A read that found none is remembered (`reads.ts`).
 *
 * While the hot store is down, events are refused and reads come from the record store, whose totals are as old as the last persist step.
 */
import type { Clock } from '../../../core/clock.ts'
import type { FlushedKey, Subject } from '../../../core/domain.ts'
import { TidemarkError, isTidemarkError } from '../../../core/errors.ts'
import { saysDown, saysFull, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { flushedCountsOf, type CountEvent, type CounterSchemas, type CountRow, type Counts } from '../model/counts.ts'
import { makeBases } from './bases.ts'
import type { CounterStores } from './guarded.ts'
import { makeCounterReads, type CounterReadFigures } from './reads.ts'

/** `invalid`: the total would leave 0 to 2^53 - 1. An error is that of a store, and the event may be sent again. */
export type CountResult = 'counted' | 'repeated' | 'invalid' | TidemarkError

export type CounterService = {
  /** Counts each event once. Results are in the order of the events. Every counter is one of its business; deltas are in range. */
  adjust(events: readonly CountEvent[]): Promise<CountResult[]>
  /** In order; zeros for a subject that was never counted, null for one whose stores do not answer (see `degraded`). */
  getMany(subjects: readonly Subject[], degraded: Degraded): Promise<(Counts | null)[]>
  /** Resolves when no fill is under way. */
  settled(): Promise<void>
  figures(): CounterReadFigures
}

export type CounterServiceOptions = {
  /** The hot store has the change of this key: it may be flushed. */
  aggregate(key: FlushedKey): void
  /** True: subjects that were read are filled, or remembered if they have no counts. For a record store in another process. */
  fillsReads: boolean
}

type OfViewer<T> = { viewer: string; item: T }

/** `onError` gets failures of fills after reads. */
export function makeCounterService(
  clock: Clock,
  { hot, records }: CounterStores,
  schemas: CounterSchemas,
  { aggregate, fillsReads }: CounterServiceOptions,
  onError: (error: unknown) => void,
): CounterService {
  const bases = makeBases(records, schemas)
  const reads = makeCounterReads(clock, hot, bases, fillsReads, onError)

  /** The error as a result, if a store is down or full. Throws any other error. */
  function failure(error: unknown): TidemarkError {
    const isOutage = saysDown(error, 'hotStore') || saysDown(error, 'recordStore') || saysFull(error)
    if (!isOutage || !isTidemarkError(error)) throw error
    return error
  }

  /** For subjects whose parts of the store answer. Fills the unknown ones and sends their events again. */
  async function adjustTogether(events: readonly CountEvent[]): Promise<CountResult[]> {
    const outcomes = await hot.adjust(events, clock.now())
    const unfilled = events.filter((_, at) => outcomes[at] === 'needs-base')
    const late = unfilled.length === 0 ? [] : await filledAndAdjusted(unfilled)
    let next = 0
    const results = outcomes.map((outcome) => (outcome === 'needs-base' ? (late[next++] as CountResult) : outcome))
    events.forEach(({ subject }, at) => {
      // A repeated event may have been counted by a process that died before it aggregated the key.
      if (results[at] === 'counted' || results[at] === 'repeated') aggregate(flushedCountsOf(subject))
    })
    return results
  }

  async function filledAndAdjusted(events: readonly CountEvent[]): Promise<CountResult[]> {
    let rows: CountRow[]
    try {
      rows = await bases.of(distinct(events.map(({ subject }) => subject)))
    } catch (error) {
      const refusal = failure(error)
      return events.map(() => refusal)
    }
    await hot.fillTotals(rows)
    const outcomes = await hot.adjust(events, clock.now())
    return outcomes.map((outcome): CountResult => {
      if (outcome !== 'needs-base') return outcome
      return new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store lost the totals of a subject while it counted: send the event again')
    })
  }

  return {
    ...reads,
    adjust: (events) =>
      apartIfPartIsOut(
        events.map((event) => ({ viewer: event.subject.oid, item: event })),
        async (some: readonly OfViewer<CountEvent>[]) => {
          try {
            return await adjustTogether(some.map(({ item }) => item))
          } catch (error) {
            if (concernsSomeOnly(error, some)) throw error
            const refusal = failure(error)
            return some.map(() => refusal)
          }
        },
      ),
  }
}

function distinct(subjects: readonly Subject[]): Subject[] {
  return [...new Map(subjects.map((subject) => [`${subject.business}:${subject.oid}`, subject])).values()]
}
