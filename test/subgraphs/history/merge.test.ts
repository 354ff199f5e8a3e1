import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ProgressRecord, CONFLICT_RULES } from '../../../core/domain.ts'
import { mergeProgress, rankOf } from '../../../subgraphs/history/model/merge.ts'

type ReportSpec = { viewedAt: number; rank: number; position: number }

function makeReport({ viewedAt, rank, position }: ReportSpec, version: number, since = 0): ProgressRecord {
  return { viewedAt, since, rank, version, position, duration: 9, device: `v${version}`, finished: position > 5, deleted: false }
}

function makeTombstone(deletedAt: number, version: number): ProgressRecord {
  return { viewedAt: deletedAt, since: deletedAt, rank: 0, version, position: 0, duration: 0, device: '', finished: false, deleted: true }
}

const reportSpec: fc.Arbitrary<ReportSpec> = fc.record({
  viewedAt: fc.integer({ min: 1, max: 10 }),
  rank: fc.integer({ min: 1, max: 5 }),
  position: fc.nat({ max: 9 }),
})
/** Each report has its own rank. Exact ties, where the arrival decides, are left out. */
const reports = fc
  .array(reportSpec, { minLength: 1, maxLength: 7 })
  .map((specs) => specs.map((item, index) => makeReport({ ...item, rank: item.rank * 10 + index }, index + 1)))

type Event = { kind: 'report'; spec: ReportSpec } | { kind: 'delete'; at: number } | { kind: 'clear'; at: number }
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('report' as const), spec: reportSpec }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.integer({ min: 1, max: 10 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), at: fc.integer({ min: 1, max: 10 }) }) },
)

/** The states of one key in a hot store. The record store may receive a subset of them in any order. */
function statesOf(events: readonly Event[]): ProgressRecord[] {
  const states: ProgressRecord[] = []
  let clearedAt = 0
  let version = 0
  for (const step of events) {
    const stored = states.at(-1)
    version += 1
    if (step.kind === 'clear') {
      clearedAt = Math.max(clearedAt, step.at, stored?.viewedAt ?? 0)
    } else if (step.kind === 'delete') {
      states.push(makeTombstone(Math.max(step.at, stored?.viewedAt ?? 0), version))
    } else if (step.spec.viewedAt > clearedAt) {
      const merged = mergeProgress(stored, makeReport(step.spec, version, clearedAt))
      if (merged !== stored) states.push(merged)
    }
  }
  return states
}

function fold(items: readonly ProgressRecord[]): ProgressRecord | undefined {
  return items.reduce<ProgressRecord | undefined>((stored, incoming) => mergeProgress(stored, incoming), undefined)
}

/** A record without its version. Reports that changed nothing may increase the version, depending on the order. */
function visible(record: ProgressRecord | undefined): unknown {
  return record === undefined ? undefined : { ...record, version: 0 }
}

function shuffled<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length })
}

describe('merging', () => {
  it('reports end in the same record in any order', () => {
    const orders = reports.chain((items) => fc.tuple(fc.constant(items), shuffled(items)))
    fc.assert(
      fc.property(orders, ([items, others]) => {
        expect(visible(fold(others))).toEqual(visible(fold(items)))
      }),
      { numRuns: 5_000 },
    )
  })

  it('reports end in the same record however often they are repeated', () => {
    fc.assert(
      fc.property(reports, fc.array(fc.nat(), { maxLength: 6 }), (items, repeats) => {
        const repeated = [...items, ...repeats.map((index) => items[index % items.length] as ProgressRecord)]
        expect(visible(fold(repeated))).toEqual(visible(fold(items)))
      }),
      { numRuns: 3_000 },
    )
  })

  it('reports end in the same record for any batching', () => {
    fc.assert(
      fc.property(reports, fc.nat(), (items, cut) => {
        const at = cut % (items.length + 1)
        const [left, right] = [fold(items.slice(0, at)), fold(items.slice(at))]
        const joined = right === undefined ? left : mergeProgress(left, right)
        expect(visible(joined)).toEqual(visible(fold(items)))
      }),
      { numRuns: 5_000 },
    )
  })

  it('the states of a key, with deletions and clearings, end in the last state for any order and subset that includes it', () => {
    const deliveries = fc
      .array(event, { minLength: 1, maxLength: 9 })
      .map(statesOf)
      .filter((states) => states.length > 0)
      .chain((states) => {
        const last = states.at(-1) as ProgressRecord
        const some = fc.subarray(states).chain((chosen) => shuffled([...chosen, ...chosen.slice(0, 3), last]))
        return fc.tuple(fc.constant(last), some)
      })
    fc.assert(
      fc.property(deliveries, ([last, delivered]) => {
        expect(visible(fold(delivered))).toEqual(visible(last))
      }),
      { numRuns: 10_000 },
    )
  })

  it('returns the stored object itself if nothing changes', () => {
    fc.assert(
      fc.property(reports, (items) => {
        const stored = fold(items) as ProgressRecord
        const older = makeReport({ viewedAt: stored.viewedAt, rank: stored.rank - 1, position: 3 }, 100)
        expect(mergeProgress(stored, older)).toBe(stored)
      }),
      { numRuns: 1_000 },
    )
  })

  it('an exact tie keeps the later arrival', () => {
    const first = makeReport({ viewedAt: 5, rank: 3, position: 1 }, 7)
    const second = makeReport({ viewedAt: 5, rank: 3, position: 2 }, 7)
    expect(mergeProgress(first, second).position).toBe(2)
    expect(mergeProgress(second, first).position).toBe(1)
  })

  it('nothing viewed at or before a deletion comes back, regardless of its rank', () => {
    fc.assert(
      fc.property(reports, fc.integer({ min: 1, max: 10 }), fc.boolean(), (items, deletedAt, deletedFirst) => {
        const tombstone = makeTombstone(deletedAt, 100)
        const merged = fold(deletedFirst ? [tombstone, ...items] : [...items, tombstone])
        expect(merged?.deleted).toBe(items.every((item) => item.viewedAt <= deletedAt))
        expect(merged?.since).toBe(deletedAt)
      }),
      { numRuns: 3_000 },
    )
  })

  it('a real visit outranks every glance under either rule', () => {
    const viewedAt = fc.integer({ min: 1, max: 2 ** 42 - 1 })
    fc.assert(
      fc.property(
        fc.constantFrom(...CONFLICT_RULES),
        viewedAt,
        viewedAt,
        fc.nat(),
        fc.nat(),
        fc.boolean(),
        (rule, at, glancedAt, position, glanced, finished) => {
          const real = rankOf(rule, { viewedAt: at, position, finished: false, glance: false })
          const glance = rankOf(rule, { viewedAt: glancedAt, position: glanced, finished: finished && rule === 'newest', glance: true })
          expect(real).toBeGreaterThan(glance)
          expect(Number.isSafeInteger(real) && Number.isSafeInteger(glance)).toBe(true)
        },
      ),
    )
  })

  it('under "furthest", finished outranks any position and a greater position outranks a newer visit', () => {
    const rank = (viewedAt: number, position: number, finished: boolean): number =>
      rankOf('furthest', { viewedAt, position, finished, glance: false })
    expect(rank(1, 0, true)).toBeGreaterThan(rank(9, 2 ** 31 - 1, false))
    expect(rank(1, 100, false)).toBeGreaterThan(rank(9, 99, false))
  })
})
