/**
 * How many candidates can one core look up? Each candidate is looked up in the four filters of a viewer with 10,000 records, in memory:
 * with the filters alone, and with hashing. "Candidates" are ids, "probes" are candidates times filters. No call waits for anything. Only
 * other processes and the garbage collector make a call slower, so the first quartile of the times counts, not the mean. `reads.ts`
 * measures a whole call of the service.
 */
import type { MonthFilter } from '../../subgraphs/feed-existence/read/filter-loads.ts'
import { openFilter } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../subgraphs/feed-existence/filter/hash.ts'
import { askAll } from '../../subgraphs/feed-existence/read/probes.ts'
import type { Measure } from '../support/report.ts'
import { BUSINESS, MONTHS, candidatesOf, lastOf, type MadeViewer } from './viewers.ts'

/** Warm-up calls. */
const WARM_UP = 100
const PER_SECOND_MIN = 20

type Filters = readonly MonthFilter[]

export function measureProbing(viewers: readonly MadeViewer[], calls: number): Measure[] {
  const opened = viewers.map(({ months }) => months.map((states, back) => ({ month: -back, probe: openFilter(lastOf(states)) })))
  const measures: Measure[] = []
  for (const count of [2_000, 10_000]) {
    const rounds = Math.ceil((calls * 2_000) / count)
    const perSecond = <C>(make: (call: number) => C, ask: (filters: Filters, made: C) => unknown): number => {
      const samples = Array.from({ length: WARM_UP + rounds }, (_, call) => {
        // Created just before the call, as for a request.
        const made = make(call)
        const begun = performance.now()
        ask(opened[call % opened.length] as Filters, made)
        return performance.now() - begun
      })
      return count / quartile(samples.slice(WARM_UP)) / 1_000
    }
    const textsOf = (call: number): string[] => candidatesOf(viewers[call % viewers.length] as MadeViewer, call, count)
    const numbersOf = (call: number): string[] =>
      textsOf(call).map((_, index) => JSON.parse(`"${7_000_000_000 + call * count + index * 7}"`) as string)
    const alone = perSecond((call) => hashSeen(BUSINESS, textsOf(call)), askAll)
    measures.push(
      {
        metric: `probing, calls of ${count}, the quickest quarter: filters alone`,
        value: alone,
        unit: 'M candidates/s',
        target: PER_SECOND_MIN,
      },
      { metric: `probing, calls of ${count}, the quickest quarter: filters alone`, value: alone * MONTHS, unit: 'M probes/s' },
      {
        metric: `probing, calls of ${count}, the quickest quarter: hashing integers of 10 digits too`,
        value: perSecond(numbersOf, (filters, ids) => askAll(filters, hashSeen(BUSINESS, ids))),
        unit: 'M candidates/s',
      },
      {
        metric: `probing, calls of ${count}, the quickest quarter: hashing ids of 25 bytes too`,
        value: perSecond(textsOf, (filters, ids) => askAll(filters, hashSeen(BUSINESS, ids))),
        unit: 'M candidates/s',
      },
    )
  }
  return measures
}

function quartile(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 4)] ?? 0
}
