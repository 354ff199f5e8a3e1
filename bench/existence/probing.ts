/**
 * How many candidates can one core ask for? Each is asked in the four filters of a viewer with 10,000 records, which are in memory: by
 * the filters alone, with hashing, and in a whole call of the service on LMDB. CPU time; "candidates" are ids, "probes" candidates
 * times filters.
 */
import { openFilter } from '../../core/seen-filter.ts'
import { hashSeen } from '../../core/seen-hash.ts'
import { askAll } from '../../subgraphs/feed-existence/unseen.ts'
import { cpuMs } from '../cache-policy/cpu.ts'
import type { Measure } from '../report.ts'
import { BUSINESS, MONTHS, candidatesOf, lastOf, type MadeViewer } from './viewers.ts'

const ROUNDS = 5
const PER_SECOND_MIN = 20

export function measureProbing(viewers: readonly MadeViewer[], calls: number): Measure[] {
  const opened = viewers.map(({ months }) => months.map((states, back) => ({ month: -back, probe: openFilter(lastOf(states)) })))
  const measures: Measure[] = []
  for (const count of [2_000, 10_000]) {
    const asked = Array.from({ length: Math.ceil((calls * 2_000) / count) }, (_, call) => {
      const place = call % viewers.length
      const texts = candidatesOf(viewers[place] as MadeViewer, call, count)
      const numbers = texts.map((_text, index) => String(7_000_000_000 + call * count + index * 7))
      return { filters: opened[place] ?? [], texts, numbers, hashes: hashSeen(BUSINESS, texts) }
    })
    const perSecond = (ask: (call: (typeof asked)[number]) => unknown): number => (count * asked.length) / bestMs(asked, ask) / 1_000
    const alone = perSecond(({ filters, hashes }) => askAll(filters, hashes))
    measures.push(
      { metric: `probing, calls of ${count}: filters alone`, value: alone, unit: 'M candidates/s', target: PER_SECOND_MIN },
      { metric: `probing, calls of ${count}: filters alone`, value: alone * MONTHS, unit: 'M probes/s' },
      {
        metric: `probing, calls of ${count}: hashing integers of 10 digits too`,
        value: perSecond(({ filters, numbers }) => askAll(filters, hashSeen(BUSINESS, numbers))),
        unit: 'M candidates/s',
      },
      {
        metric: `probing, calls of ${count}: hashing ids of 25 bytes too`,
        value: perSecond(({ filters, texts }) => askAll(filters, hashSeen(BUSINESS, texts))),
        unit: 'M candidates/s',
      },
    )
  }
  return measures
}

/** Of all calls, the best of some rounds. */
function bestMs<C>(calls: readonly C[], ask: (call: C) => unknown): number {
  let least = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const begun = cpuMs()
    for (const call of calls) ask(call)
    least = Math.min(least, cpuMs() - begun)
  }
  return least
}
