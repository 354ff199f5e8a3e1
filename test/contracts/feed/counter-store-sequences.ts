/** Contract of the hot store of counters: any sequence of calls has the answers and the totals of the model. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { makeCountersState, openModelCounterStore } from '../../../harness/models/feed/counter-store-model.ts'
import { later } from '../reports.ts'
import { COUNTER_REGIONS, eventOf, freshSubject, type CounterStoreSubject } from './counter-samples.ts'

const SUBJECTS = 5
const NAMES = ['repost', 'comment', 'like', 'read']
let runs = 0

const event = fc.record({
  subject: fc.nat({ max: SUBJECTS - 1 }),
  counter: fc.constantFrom(...NAMES),
  delta: fc.integer({ min: -40, max: 60 }).filter((delta) => delta !== 0),
  id: fc.nat({ max: 30 }),
})
const call = fc.oneof(
  { weight: 5, arbitrary: fc.record({ adjust: fc.array(event, { minLength: 1, maxLength: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ fill: fc.nat({ max: SUBJECTS - 1 }), count: fc.nat({ max: 70 }), version: fc.nat({ max: 1_000 }) }) },
  { weight: 2, arbitrary: fc.record({ clear: fc.nat({ max: SUBJECTS - 1 }) }) },
)

export function counterSequencesContract({ store }: CounterStoreSubject): void {
  it('any sequence of fills, events and clears has the outcomes, totals and dirty marks of the model', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 25 }), async (calls) => {
        const run = `run-${runs++}`
        const subjects = Array.from({ length: SUBJECTS }, (_, at) => freshSubject(at % 2 === 1))
        const subjectAt = (at: number) => subjects[at] as (typeof subjects)[0]
        const model = openModelCounterStore(makeCountersState(), COUNTER_REGIONS)
        for (const one of calls) {
          if ('adjust' in one) {
            const events = one.adjust.map(({ subject, counter, delta, id }) => eventOf(subjectAt(subject), delta, counter, `${run}-${id}`))
            const now = later()
            expect(await store().adjust(events, now)).toEqual(await model.adjust(events, now))
          } else if ('fill' in one) {
            const row = {
              subject: subjectAt(one.fill),
              counts: { repost: one.count, comment: one.count, like: one.count * 300_000, read: one.count },
              version: one.version,
            }
            await store().fillTotals([row])
            await model.fillTotals([row])
          } else {
            const subject = subjectAt(one.clear)
            for (const each of [store(), model]) {
              const [dirty] = await each.readDirty([subject])
              if (dirty !== undefined) await each.clearDirty([{ subject, version: dirty.version }])
            }
          }
          expect(await store().getMany(subjects)).toEqual(await model.getMany(subjects))
        }
        const dirtyCounts = async (each: typeof model) => (await each.readDirty(subjects)).map((dirty) => dirty?.counts)
        expect(await dirtyCounts(store())).toEqual(await dirtyCounts(model))
      }),
      { numRuns: 60 },
    )
  })
}
