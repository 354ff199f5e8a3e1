/**
 * Hot store contract: any sequence of operations ends as in a model of plain maps. The model holds one viewer, merges with `mergeProgress`,
 * and knows neither trimming nor dirty marks. A failure prints the shortest sequence and its seed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ProgressRecord } from '../../../core/domain.ts'
import { mergeProgress, rankOf } from '../../../subgraphs/history/model/merge.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import { placeOf } from './hot-store-timelines.ts'
import { freshViewer, later, unversioned } from '../reports.ts'
import type { HotStoreSubject } from './hot-store-subject.ts'

const BUSINESSES = [1, 2]
const OIDS = ['1', 'b', '9223372036854775807']

type ReportSpec = {
  business: number
  oid: string
  age: number
  position: number
  glance: boolean
  finished: boolean
  day: number | undefined
}
type Operation =
  | { kind: 'put'; reports: ReportSpec[] }
  | { kind: 'delete'; business: number; oid: string }
  | { kind: 'clear'; business: number }
  | { kind: 'pause'; paused: boolean }

const address = { business: fc.constantFrom(...BUSINESSES), oid: fc.constantFrom(...OIDS) }
const reportSpec: fc.Arbitrary<ReportSpec> = fc.record({
  ...address,
  age: fc.nat({ max: 4 }),
  position: fc.nat({ max: 5 }),
  glance: fc.boolean(),
  finished: fc.boolean(),
  day: fc.constantFrom(undefined, 20_000),
})
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), reports: fc.array(reportSpec, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), ...address }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), business: address.business }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause' as const), paused: fc.boolean() }) },
)

export function modelContract({ store }: HotStoreSubject): void {
  for (const rule of ['newest', 'furthest'] as const) {
    it(`any sequence of operations agrees with the model, under the rule ${rule}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
          const viewer = freshViewer()
          const model = makeModel()
          for (const step of operations) {
            const now = later(2)
            expect(await perform(store(), viewer, step, now, rule)).toEqual(await perform(model, viewer, step, now, rule))
          }
          expect(await describeViewer(store(), viewer)).toEqual(await describeViewer(model, viewer))
        }),
        { numRuns: 60 },
      )
    })
  }
}

type Performer = Pick<
  HotStore,
  'putProgress' | 'deleteProgress' | 'clearProgress' | 'setPaused' | 'getProgressMany' | 'listTimeline' | 'getSettings'
>

async function perform(target: Performer, viewer: string, step: Operation, now: number, rule: 'newest' | 'furthest'): Promise<unknown> {
  switch (step.kind) {
    case 'put': {
      const writes = step.reports.map((spec) => writeOf(viewer, spec, now, rule))
      return (await target.putProgress(writes, { now, timelineCap: 1_000 })).map(unversionedOutcome)
    }
    case 'delete': {
      const outcomes = await target.deleteProgress([{ viewer, business: step.business, oid: step.oid }], now)
      return outcomes.map((outcome) => ({ existed: outcome.existed, record: unversioned(outcome.record) }))
    }
    case 'clear':
      return target.clearProgress(viewer, step.business, now)
    case 'pause':
      return (await target.setPaused(viewer, step.paused, now)).paused
  }
}

function writeOf(viewer: string, spec: ReportSpec, now: number, rule: 'newest' | 'furthest'): ProgressWrite {
  const { business, oid, age, position, glance, finished, day } = spec
  const viewedAt = now - age
  const rank = rankOf(rule, { viewedAt, position, finished, glance })
  const record: ProgressRecord = {
    viewedAt,
    since: 0,
    rank,
    version: 0,
    position,
    duration: 9,
    device: `d${position}`,
    finished,
    deleted: false,
  }
  return { viewer, business, oid, record, decisive: !glance, ...(day === undefined ? {} : { day }) }
}

/** Without `before`: adapters decide whether they keep cleared records until they are persisted. */
function unversionedOutcome(outcome: PutOutcome): unknown {
  return 'record' in outcome ? { ...outcome, record: unversioned(outcome.record), before: undefined } : outcome
}

async function describeViewer(target: Performer, viewer: string): Promise<unknown> {
  const keys = BUSINESSES.flatMap((business) => OIDS.map((oid) => ({ viewer, business, oid })))
  const lookups = await target.getProgressMany(keys)
  const page = await target.listTimeline(viewer, BUSINESSES, undefined, 100)
  const { paused, clearedAt } = await target.getSettings(viewer)
  return {
    lookups: lookups.map((lookup) => ({ ...lookup, record: unversioned(lookup.record) })),
    entries: page.entries.map((entry) => ({ ...entry, record: unversioned(entry.record) })),
    truncated: page.truncated,
    paused,
    clearedAt,
  }
}

/** The port for one viewer, with a clock that always advances: no stored time is ahead of `now`. */
function makeModel(): Performer {
  type Held = { business: number; oid: string; record: ProgressRecord }
  const held = new Map<string, Held>()
  const clearedAt: Record<number, number> = {}
  const days = new Map<number, number>()
  let paused = false
  let version = 0

  const nameOf = (key: { business: number; oid: string }): string => `${key.business}:${key.oid}`
  const isVisible = ({ business, record }: Held): boolean => !record.deleted && record.viewedAt > (clearedAt[business] ?? 0)
  const visible = (key: { business: number; oid: string }): ProgressRecord | undefined => {
    const found = held.get(nameOf(key))
    return found !== undefined && isVisible(found) ? found.record : undefined
  }

  function put({ business, oid, record, day }: ProgressWrite): PutOutcome {
    if (paused) return { status: 'paused' }
    const since = clearedAt[business] ?? 0
    const stored = held.get(nameOf({ business, oid }))?.record
    const stale: PutOutcome = { status: 'stale', record: visible({ business, oid }), voidUntil: Math.max(since, stored?.since ?? 0) }
    if (record.viewedAt <= since) return stale
    version += 1
    const merged = mergeProgress(stored, { ...record, since, version })
    if (merged === stored) return stale
    held.set(nameOf({ business, oid }), { business, oid, record: merged })
    const firstOfDay = day !== undefined && day > (days.get(business) ?? 0)
    if (firstOfDay) days.set(business, day)
    return { status: 'written', record: merged, before: stored, firstOfDay }
  }

  return {
    putProgress: async (writes) => writes.map(put),
    async deleteProgress(keys, now) {
      return keys.map(({ business, oid }) => {
        const existed = visible({ business, oid }) !== undefined
        version += 1
        const record = { viewedAt: now, since: now, rank: 0, version, position: 0, duration: 0, device: '', finished: false, deleted: true }
        held.set(nameOf({ business, oid }), { business, oid, record })
        return { record, existed }
      })
    },
    async clearProgress(_viewer, business, now) {
      clearedAt[business] = now
      return now
    },
    async setPaused(_viewer, value) {
      paused = value
      return { paused, clearedAt: { ...clearedAt }, version }
    },
    getSettings: async () => ({ paused, clearedAt: { ...clearedAt }, version }),
    getProgressMany: async (keys) => keys.map((key) => ({ record: visible(key), older: undefined })),
    async listTimeline() {
      const entries = [...held.values()].filter(isVisible)
      return { entries: entries.toSorted((a, b) => comparePlaces(placeOf(a), placeOf(b))), truncated: [] }
    },
  }
}
