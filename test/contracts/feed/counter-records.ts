/** The contract of the record store of counters, run unchanged by every adapter. Every test has its own subjects. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openModelCounterRecords } from '../../../harness/models/feed/counter-store-model.ts'
import type { CountRow } from '../../../subgraphs/feed/model/counts.ts'
import type { CounterRecords } from '../../../subgraphs/feed/stores/counter-records.ts'
import { describeStore, type OpenedStore } from '../opened-store.ts'
import { numbered } from '../reports.ts'
import { ZERO, freshSubject } from './counter-samples.ts'

export function counterRecordsContract(name: string, open: () => Promise<OpenedStore<CounterRecords>>): void {
  describeStore(`counter records contract: ${name}`, open, ({ store, reopen }) => {
    it('the totals with the higher version stay, in either order, and an equal version changes nothing', async () => {
      const [one, other] = [freshSubject(), freshSubject(true)]
      await store().putTotals([
        { subject: one, counts: { ...ZERO, read: 5 }, version: 5 },
        { subject: other, counts: { ...ZERO, like: 2 }, version: 2 },
      ])
      await store().putTotals([
        { subject: one, counts: { ...ZERO, read: 4 }, version: 4 },
        { subject: other, counts: { ...ZERO, like: 3 }, version: 3 },
      ])
      await store().putTotals([{ subject: other, counts: { ...ZERO, like: 9 }, version: 3 }])
      expect(await store().getTotalsMany([other, freshSubject(), one])).toEqual([
        { counts: { like: 3 }, version: 3 },
        undefined,
        { counts: { read: 5 }, version: 5 },
      ])
    })

    it('subjects of two businesses with one id are apart, and large totals are exact', async () => {
      const post = freshSubject()
      const video = { ...post, business: 9 }
      const version = 1_790_000_000_000 * 1_024
      await store().putTotals([
        { subject: post, counts: { read: Number.MAX_SAFE_INTEGER }, version },
        { subject: video, counts: { view: 1 }, version: version + 1 },
      ])
      await reopen()
      expect(await store().getTotalsMany([video, post])).toEqual([
        { counts: { view: 1 }, version: version + 1 },
        { counts: { read: Number.MAX_SAFE_INTEGER }, version },
      ])
    })

    it('thousands of rows in one call are all stored and read in order', async () => {
      const before = await store().countSubjects()
      const rows = numbered(3_000).map((_, at) => ({ subject: freshSubject(at % 3 === 0), counts: { read: at + 1 }, version: at + 1 }))
      await store().putTotals(rows)
      const found = await store().getTotalsMany(rows.map(({ subject }) => subject))
      expect(found.map((each) => each?.counts['read'])).toEqual(rows.map(({ counts }) => counts.read))
      expect(await store().countSubjects()).toBe(before + 3_000)
    })

    it('the totals of a business are listed once each, in pages of any size', async () => {
      const business = 60_000 + Math.floor(Math.random() * 5_000)
      const subjects = numbered(25).map((_, at) => ({ ...freshSubject(at % 2 === 0), business }))
      await store().putTotals(subjects.map((subject, at) => ({ subject, counts: { read: at + 1 }, version: at + 1 })))
      await store().putTotals([{ subject: { business: business + 1, oid: '1' }, counts: { read: 1 }, version: 1 }])
      const found: CountRow[] = []
      for (let page: CountRow[] | undefined; page === undefined || page.length > 0; found.push(...page))
        page = await store().listTotals(business, found.at(-1)?.subject.oid, 4)
      expect(found.toSorted((a, b) => a.version - b.version)).toEqual(
        subjects.map((subject, at) => ({ subject, counts: { read: at + 1 }, version: at + 1 })),
      )
    })

    it('any order and repetition of versions ends as in the model', { timeout: 60_000 }, async () => {
      const row = fc.record({ subject: fc.nat({ max: 3 }), version: fc.integer({ min: 1, max: 9 }) })
      const calls = fc.array(fc.uniqueArray(row, { selector: ({ subject }) => subject, maxLength: 4 }), { maxLength: 10 })
      await fc.assert(
        fc.asyncProperty(calls, async (all) => {
          const subjects = numbered(4).map(() => freshSubject())
          const model = openModelCounterRecords(new Map())
          for (const some of all) {
            // One version has one content.
            const rows = some.map(({ subject, version }) => ({ subject: subjects[subject] as never, version, counts: { read: version } }))
            await store().putTotals(rows)
            await model.putTotals(rows)
          }
          expect(await store().getTotalsMany(subjects)).toEqual(await model.getTotalsMany(subjects))
        }),
        { numRuns: 60 },
      )
    })

    it('an available store passes its check, and empty calls return nothing', async () => {
      await store().check()
      await store().putTotals([])
      expect(await store().getTotalsMany([])).toEqual([])
    })
  })
}
