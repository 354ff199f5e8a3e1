/**
 * Contract of the record store of marks: any sequence of calls answers and ends as in the model
 * (`harness/models/thumbup/record-store-model.ts`), and counts equal rows after each call. A failure prints the shortest sequence and its
 * seed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import type { AppliedMarks, MarkRecords, MarkRow } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { openModelMarkRecords } from '../../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../../harness/models/thumbup/record-rows.ts'
import { archiveAll, freshBusiness, purgeAllUndone, readScene, transitionsOf, withoutVersions } from './mark-rows.ts'
import { later } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

const VIEWERS = ['1', 'b', '9223372036854775808']
const OIDS = ['1', 'ü', '30']
const OWNERS = ['1', 'o']
const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']

type RowSpec = { viewer: string; oid: string; mark: Mark; at: number; version: number }
type Step =
  | { kind: 'apply'; rows: RowSpec[] }
  | { kind: 'again'; call: number }
  | { kind: 'register'; oid: string; owner: string }
  | { kind: 'archive'; at: number }
  | { kind: 'purge'; at: number }

const rowSpec: fc.Arbitrary<RowSpec> = fc.record({
  viewer: fc.constantFrom(...VIEWERS),
  oid: fc.constantFrom(...OIDS),
  mark: fc.constantFrom(...MARKS),
  at: fc.integer({ min: 1, max: 12 }),
  version: fc.integer({ min: 1, max: 9 }),
})
const rowSpecs = fc.uniqueArray(rowSpec, { selector: ({ viewer, oid }) => `${viewer} ${oid}`, minLength: 1, maxLength: 5 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('apply' as const), rows: rowSpecs }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), call: fc.nat({ max: 5 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('register' as const), oid: fc.constantFrom(...OIDS), owner: fc.constantFrom(...OWNERS) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('archive' as const), at: fc.nat({ max: 13 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), at: fc.nat({ max: 13 }) }) },
)

export function marksModelContract({ store }: MarkRecordsSubject): void {
  it('any order, repetition and batching of rows ends with the winners, and counts equal rows', async () => {
    const batches = fc.array(rowSpecs, { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(batches, async (calls) => {
        const business = freshBusiness()
        const base = later(100)
        const winners = new Map<string, MarkRow>()
        for (const rows of calls.map((specs) => rowsOf(specs, business, base))) {
          await store().applyMarks(rows, [])
          for (const row of rows) {
            const text = `${row.key.viewer} ${row.key.oid}`
            if (winsOver(row.record, winners.get(text)?.record)) winners.set(text, row)
          }
        }
        const rows = [...winners.values()]
        expect(await store().getMarkMany(rows.map(({ key }) => key))).toEqual(rows.map(({ record }) => record))
        const count = (oid: string, mark: Mark) => rows.filter(({ key, record }) => key.oid === oid && record.mark === mark).length
        const counts = await store().getCountsMany(OIDS.map((oid) => ({ business, oid })))
        expect(counts.map(({ likes, dislikes }) => [likes, dislikes])).toEqual(
          OIDS.map((oid) => [count(oid, 'LIKE'), count(oid, 'DISLIKE')]),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('any sequence of calls agrees with the model, and versions of counts grow with each transition and each moved like', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const business = freshBusiness()
        const base = later(100)
        const scene = { business, viewers: VIEWERS, oids: OIDS, owners: OWNERS }
        const model = openModelMarkRecords(makeMarkRecordsState())
        const calls: MarkRow[][] = []
        for (const next of steps) {
          if (next.kind === 'apply') calls.push(rowsOf(next.rows, business, base))
          const rows = next.kind === 'apply' ? calls.at(-1) : next.kind === 'again' ? calls[next.call] : undefined
          const before = await versionsOf(store(), business)
          const transitions = await perform(store(), next, rows ?? [], business, base)
          expect(transitions).toEqual(await perform(model, next, rows ?? [], business, base))
          const after = await versionsOf(store(), business)
          OIDS.forEach((oid, at) => {
            const changed = transitions.some((text) => text.split(' ')[1] === oid)
            expect(Math.sign((after[at] ?? 0) - (before[at] ?? 0)), `the version of ${oid}`).toBe(changed ? 1 : 0)
          })
        }
        expect(withoutVersions('count versions', await readScene(store(), scene))).toEqual(
          withoutVersions('count versions', await readScene(model, scene)),
        )
      }),
      { numRuns: 80 },
    )
  })
}

function rowsOf(specs: readonly RowSpec[], business: number, base: number): MarkRow[] {
  return specs.map(({ viewer, oid, mark, at, version }) => ({
    key: { viewer, business, oid },
    record: { mark, markedAt: base + at, version },
  }))
}

/** A subject that was only liked again is "- oid". */
function transitionsAndMoves(applied: AppliedMarks): string[] {
  const changed = new Set(applied.changes?.transitions.map(({ key }) => key.oid))
  const moved = applied.changes?.counts.filter(({ oid }) => !changed.has(oid)) ?? []
  return [...transitionsOf(applied), ...moved.map(({ oid }) => `- ${oid}`).toSorted()]
}

/** Returns the transitions of calls that have some. */
async function perform(target: MarkRecords, next: Step, rows: readonly MarkRow[], business: number, base: number): Promise<string[]> {
  switch (next.kind) {
    case 'apply':
    case 'again':
      return transitionsAndMoves(await target.applyMarks(rows, []))
    case 'register':
      await target.registerSubjects([{ business, oid: next.oid, owner: next.owner }])
      return []
    case 'archive':
      await archiveAll(target, base + next.at)
      return []
    case 'purge':
      await purgeAllUndone(target, base + next.at)
      return []
  }
}

async function versionsOf(store: MarkRecords, business: number): Promise<number[]> {
  return (await store.getCountsMany(OIDS.map((oid) => ({ business, oid })))).map(({ version }) => version)
}
