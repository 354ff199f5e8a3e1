/**
 * Mark store contract: any sequence of writes, persist steps, fills, purges and lists ends as in the model. Persist steps and fills may be
 * quick or late. Each key ends as the newest of its accepted writes, although marks leave memory in between. A failure prints the shortest
 * sequence and its seed.
 *
 * Each of the two stores has its own record store, because versions differ: a map that applies rows as the port of records does.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Mark, MarkRecord } from '../../../core/domain.ts'
import { winsOver } from '../../../subgraphs/thumbup/model/merge.ts'
import { keyText } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import type { DirtyMark, MarkStore, MarkWrite } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import { makeMarkStoreModel } from '../../../harness/models/thumbup/hot-store-model.ts'
import { beginFill, purgeAll, withoutVersion } from './marks.ts'
import { freshViewer, keyOf, later } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'

const BUSINESSES = [1, 2]
const OIDS = ['1', '10', '9', 'b']
const CAP = 2

type WriteSpec = { business: number; oid: string; mark: Mark; age: number; blind: boolean }
type Operation =
  | { kind: 'put'; writes: WriteSpec[] }
  | { kind: 'fill'; business: number; rowsMax: number }
  | { kind: 'begin fill'; business: number }
  | { kind: 'late fill' }
  | { kind: 'persist'; oids: string[] }
  | { kind: 'read dirty' }
  | { kind: 'clear late' }
  | { kind: 'purge'; age: number }
  | { kind: 'list'; business: number; oid: string; age: number; limit: number }

const business = fc.constantFrom(...BUSINESSES)
const oid = fc.constantFrom(...OIDS)
const age = fc.nat({ max: 5 })
const writeSpec: fc.Arbitrary<WriteSpec> = fc.record({
  business,
  oid,
  mark: fc.constantFrom<Mark>('NONE', 'LIKE', 'LIKE', 'DISLIKE'),
  age,
  blind: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})
const kind = <K extends string>(name: K) => fc.constant(name)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: kind('put'), writes: fc.array(writeSpec, { minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('fill'), business, rowsMax: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('begin fill'), business }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('late fill') }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('persist'), oids: fc.subarray(OIDS, { minLength: 1 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('read dirty') }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('clear late') }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('purge'), age }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('list'), business, oid, age, limit: fc.nat({ max: 3 }) }) },
)

const write = (name: string, mark: Mark, ago = 0, blind = false): WriteSpec => ({ business: 2, oid: name, mark, age: ago, blind })

/** A list is beyond its cap because of an unpersisted mark at its end. Then that mark moves or goes, and the list has not grown. */
const FOUND: [Operation[]][] = [
  [
    [
      { kind: 'put', writes: [write('9', 'LIKE')] },
      { kind: 'put', writes: [write('b', 'LIKE', 2, true), write('1', 'LIKE')] },
      { kind: 'persist', oids: ['9'] },
      { kind: 'put', writes: [write('b', 'LIKE')] },
    ],
  ],
  [
    [
      { kind: 'put', writes: [write('1', 'LIKE', 1), write('10', 'LIKE')] },
      { kind: 'put', writes: [write('9', 'LIKE'), write('b', 'LIKE')] },
      { kind: 'persist', oids: ['10'] },
      { kind: 'put', writes: [write('1', 'NONE')] },
    ],
  ],
]

export function propertyContract({ store, regions }: MarkStoreSubject): void {
  it('any sequence of operations agrees with the model, and no accepted mark is lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 16 }), async (operations) => {
        const viewer = freshViewer()
        const sides = [store(), makeMarkStoreModel(regions())].map((target) => makeSide(target, viewer, regions()))
        for (const [index, step] of operations.entries()) {
          const now = later(2)
          const [real, model] = await Promise.all(sides.map((side) => side.perform(step, now)))
          expect(real, `step ${index}: ${JSON.stringify(step)}`).toEqual(model)
        }
        for (const side of sides) {
          for (const { held, newest } of await side.settle()) expect(held).toEqual(newest)
        }
      }),
      { numRuns: 150, examples: FOUND },
    )
  })
}

/** One of the two stores, with a record store behind it, as the service and the job use them. */
function makeSide(store: MarkStore, viewer: string, regions: number) {
  const records = new Map<string, MarkRecord>()
  const accepted = new Map<string, MarkRecord>()
  let lateFill: { business: number; asOf: number; rows: (MarkRecord & { oid: string })[] } | undefined
  let lateClear: DirtyMark[] = []
  const keys = BUSINESSES.flatMap((number) => OIDS.map((name) => keyOf(viewer, name, number)))

  /** Writes as the service does: a write that needs a base gets it and is repeated. */
  async function put(writes: MarkWrite[], now: number): Promise<unknown> {
    const told: unknown[] = []
    let waiting = writes
    while (waiting.length > 0) {
      const outcomes = await store.putMarks(waiting, { now, cap: CAP })
      const next: MarkWrite[] = []
      for (const [index, write] of waiting.entries()) {
        const outcome = outcomes[index]
        if (outcome?.status === 'needs-base') {
          next.push({ ...write, base: records.get(keyText(write)) ?? null, baseAsOf: outcome.asOf })
        } else if (outcome?.status === 'written' && winsOver(outcome.record, accepted.get(keyText(write)))) {
          accepted.set(keyText(write), outcome.record)
        }
        told.push(describe(outcome))
      }
      waiting = next
    }
    return told
  }

  const describe = (outcome: Awaited<ReturnType<MarkStore['putMarks']>>[number] | undefined): unknown => {
    if (outcome === undefined) return undefined
    if (outcome.status === 'needs-base') return { status: outcome.status, unknown: outcome.unknown }
    return { ...outcome, record: withoutVersion(outcome.record) }
  }

  function rowsOf(number: number): (MarkRecord & { oid: string })[] {
    const rows = OIDS.flatMap((name) => {
      const record = records.get(keyText(keyOf(viewer, name, number)))
      return record === undefined || record.mark === 'NONE' ? [] : [{ oid: name, ...record }]
    })
    return rows.sort((a, b) => compareMarkPlaces({ id: a.oid, markedAt: a.markedAt }, { id: b.oid, markedAt: b.markedAt }))
  }

  async function fill(number: number, asOf: number, all: (MarkRecord & { oid: string })[], rowsMax: number): Promise<void> {
    const rows = all.slice(0, rowsMax)
    await store.fillMarks(viewer, number, rows, { cap: CAP, asOf, whole: rows.length === all.length })
  }

  async function clear(read: readonly DirtyMark[]): Promise<void> {
    const persisted = read.flatMap(({ key, record }) => {
      if (record === undefined) return []
      const stored = records.get(keyText(key))
      const winner = winsOver(record, stored) ? record : (stored ?? record)
      records.set(keyText(key), winner)
      return [{ key, version: record.version, record: winner }]
    })
    await store.clearDirtyMarks(persisted, CAP)
  }

  async function apply(step: Operation, now: number): Promise<unknown> {
    switch (step.kind) {
      case 'put':
        return put(
          step.writes.map(({ age: ago, blind, ...write }) => ({ viewer, ...write, markedAt: now - ago, ...(blind && { blind }) })),
          now,
        )
      case 'fill':
        return fill(step.business, await beginFill(store, viewer, step.business), rowsOf(step.business), step.rowsMax)
      case 'begin fill':
        lateFill = { business: step.business, asOf: await beginFill(store, viewer, step.business), rows: rowsOf(step.business) }
        return undefined
      case 'late fill':
        return lateFill && fill(lateFill.business, lateFill.asOf, lateFill.rows, lateFill.rows.length)
      case 'persist':
        return clear(await store.readDirtyMarks(keys.filter((key) => step.oids.includes(key.oid))))
      case 'read dirty':
        lateClear = await store.readDirtyMarks(keys)
        return undefined
      case 'clear late': {
        const read = lateClear
        lateClear = []
        return clear(read)
      }
      case 'purge':
        await purgeAll(store, [regionOf(viewer, regions)], now - step.age)
        return undefined
      case 'list':
        return store.listLikes(viewer, step.business, { id: step.oid, markedAt: now - step.age }, step.limit)
    }
  }

  return {
    async perform(step: Operation, now: number): Promise<unknown> {
      const told = await apply(step, now)
      const states = await store.getMarkMany(keys)
      const lists = await Promise.all(BUSINESSES.map((number) => store.listLikes(viewer, number, undefined, 100)))
      const dirty = (await store.listDirtyMarks([regionOf(viewer, regions)], now + 1_000, 10_000_000)).filter(
        (key) => key.viewer === viewer,
      )
      return { told, states, lists, dirty: dirty.map(keyText).toSorted() }
    },

    /** Persists everything, then returns the stored and the expected record of each key. */
    async settle(): Promise<{ held: unknown; newest: unknown }[]> {
      await clear(await store.readDirtyMarks(keys))
      return keys.map((key) => {
        const [held, newest] = [records.get(keyText(key)), accepted.get(keyText(key))]
        return { held: held && withoutVersion(held), newest: newest && withoutVersion(newest) }
      })
    },
  }
}
