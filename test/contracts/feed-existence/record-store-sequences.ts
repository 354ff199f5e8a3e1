/** Contract of the record store of filters: any sequence of calls answers as the model does. A failure prints the shortest one. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { FilterWrite, SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { freshViewer } from '../reports.ts'
import { DAY_MS, filterKey, purgeAll, someBytes } from './seen-filters.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../../harness/models/feed-existence/record-store-model.ts'
import type { SeenRecordsSubject } from './record-store-subject.ts'

const VIEWERS = 3
const MONTHS = [5, 6]
/** Later than the days of other tests, and before filters that never expire in tests. */
let base = 10_000 * DAY_MS

const place = fc.record({ viewer: fc.nat({ max: VIEWERS - 1 }), month: fc.constantFrom(...MONTHS) })
const writeSpec = fc.record({ place, seed: fc.nat(), expected: fc.nat({ max: 4 }), expiresIn: fc.nat({ max: 20 }) })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      /** Expects the stored version. Without this, most writes are refused. */
      fitting: fc.boolean(),
      writes: fc.uniqueArray(writeSpec, { selector: ({ place: at }) => `${at.viewer} ${at.month}`, minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('quarantine' as const), place, version: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), after: fc.nat({ max: 20 }) }) },
)

export function seenModelContract({ store, second }: SeenRecordsSubject): void {
  it('every sequence of calls answers as the model does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        base += 1_000
        await purgeAll(store(), base, 1_000)
        const own = Array.from({ length: VIEWERS }, freshViewer)
        const keys = own.flatMap((viewer) => MONTHS.map((month) => filterKey(viewer, month)))
        const model = openModelSeenRecords(makeSeenRecordsState())
        const keyAt = (at: { viewer: number; month: number }) => filterKey(own[at.viewer] as string, at.month)
        for (const [turn, each] of steps.entries()) {
          const real = turn % 2 === 0 ? store() : second()
          if (each.kind === 'put') {
            const stored = await model.getFilters(each.writes.map((write) => keyAt(write.place)))
            const writes = each.writes.map((write, at): FilterWrite => ({
              ...keyAt(write.place),
              filter: someBytes(1 + (write.seed % 50), write.seed),
              expected: each.fitting ? (stored[at]?.version ?? 0) : write.expected,
              expiresAt: base + write.expiresIn,
            }))
            expect(await real.putFilters(writes)).toEqual(await model.putFilters(writes))
          } else if (each.kind === 'quarantine') {
            await real.quarantineFilter(keyAt(each.place), each.version, `turn ${turn}`)
            await model.quarantineFilter(keyAt(each.place), each.version, `turn ${turn}`)
          } else {
            const total = async (records: SeenRecords) =>
              (await purgeAll(records, base + each.after, 2)).reduce((sum, some) => sum + some, 0)
            expect(await total(real)).toBe(await total(model))
          }
          expect(await store().getFilters(keys)).toEqual(await model.getFilters(keys))
        }
        expect(await second().listFilters(own)).toEqual(await model.listFilters(own))
        const all = await store().listQuarantined(100_000)
        const aside = all.filter(({ viewer }) => own.includes(viewer))
        expect(new Set(aside)).toEqual(new Set(await model.listQuarantined(100)))
        expect(await second().countQuarantined()).toBe(all.length)
        await purgeAll(store(), base + 20, 1_000)
      }),
      { numRuns: 40 },
    )
  })
}
