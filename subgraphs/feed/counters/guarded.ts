/** The stores of counters as the service uses them, behind the breakers of the feed's stores, which are the same servers. */
import type { Clock } from '../../../core/clock.ts'
import { guardMethods, type GuardOptions, type StoreBreakers } from '../../../core/outage/guard.ts'
import { makeRecordReads } from '../../../core/outage/record-reads.ts'
import type { CounterRecords } from '../stores/counter-records.ts'
import type { CounterStore } from '../stores/counter-store.ts'

export type CounterStores = { hot: CounterStore; records: CounterRecords }

export function guardCounterStores(
  clock: Clock,
  { hot, records }: CounterStores,
  breakers: Pick<StoreBreakers, 'hotStore' | 'recordStore'>,
  options: GuardOptions,
): CounterStores {
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpenForMany)
  return {
    hot: guardMethods(hot, breakers.hotStore.run, {
      adjust: (events) => events.map(({ subject }) => subject.oid),
      fillTotals: (bases) => bases.map(({ subject }) => subject.oid),
      getMany: (subjects) => subjects.map(({ oid }) => oid),
    }),
    records: guardMethods(records, reads.run, {
      getTotalsMany: (subjects) => ({ kind: 'getTotalsMany', size: subjects.length, of: subjects }),
    }),
  }
}
