/**
 * Seen store contract: any sequence of calls, with late folds, ends as in the model: issued oids, staged plays, viewers in the ring, and
 * the growth of `folds`. A failure prints the shortest sequence and its seed.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { utcDayOf } from '../../../core/days.ts'
import type { SeenStore, StagedPlay } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeSeenStoreModel } from '../../../harness/models/feed-existence/hot-store-model.ts'
import { freshNamedViewer, freshViewer } from '../reports.ts'
import { AT, CAPS, byText, isInRing } from './seen.ts'
import type { SeenStoreSubject } from './hot-store-subject.ts'

const BUSINESSES = [1, 2]
const SLOTS = [0, 1, 5]
const TODAY = utcDayOf(AT)

type PlaySpec = { who: number; business: number; oid: string; age: number; day: number | undefined }
type Operation =
  | {
      kind: 'issue'
      who: number
      business: number
      oids: string[]
      after: number
      cap: number
      minAgeMs: number
      more: number
      day: number | undefined
    }
  | { kind: 'stage'; slot: number; plays: PlaySpec[] }
  | { kind: 'read'; slot: number }
  | { kind: 'fold late' }
  | { kind: 'fold'; slot: number; plays: PlaySpec[] }
  | { kind: 'fold all'; slot: number; who: number }

const who = fc.nat({ max: 2 })
const business = fc.constantFrom(...BUSINESSES)
const slot = fc.constantFrom(...SLOTS)
const oid = fc.constantFrom('1', '10', '9', 'b')
const day = fc.constantFrom(undefined, TODAY - 1, TODAY)
const plays = fc.array(fc.record({ who, business, oid, age: fc.nat({ max: 3 }), day }), { minLength: 1, maxLength: 5 })
const kind = <K extends string>(name: K) => fc.constant(name)
const issue = fc.record({
  kind: kind('issue'),
  who,
  business,
  oids: fc.array(oid, { maxLength: 4 }),
  after: fc.nat({ max: 10 }),
  cap: fc.integer({ min: 1, max: 3 }),
  minAgeMs: fc.nat({ max: 8 }),
  more: fc.nat({ max: 2 }),
  day,
})
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: issue },
  { weight: 6, arbitrary: fc.record({ kind: kind('stage'), slot, plays }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('read'), slot }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('fold late') }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('fold'), slot, plays }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('fold all'), slot, who }) },
)

export function seenPropertyContract({ store, regions, shape }: SeenStoreSubject): void {
  it('any sequence of calls agrees with the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
        const viewers = [freshViewer(), freshViewer(), freshNamedViewer()]
        const sides = [store(), makeSeenStoreModel(regions(), shape())].map((side) => makeSide(side, viewers))
        for (const [index, step] of operations.entries()) {
          const [real, model] = await Promise.all(sides.map((side) => side(step)))
          expect(real, `step ${index}: ${JSON.stringify(step)}`).toEqual(model)
        }
      }),
      { numRuns: 120 },
    )
  })

  function makeSide(side: SeenStore, viewers: readonly string[]) {
    const folds = viewers.map(() => 0)
    let read: { slot: number; staged: StagedPlay[][] } | undefined
    const nameOf = (index: number): string => viewers[index] ?? ''
    const remove = (from: number, staged: readonly (readonly StagedPlay[])[]) =>
      side.removeStaged(
        from,
        viewers.map((viewer, index) => ({ viewer, plays: staged[index] ?? [] })),
      )

    async function perform(step: Operation): Promise<unknown> {
      switch (step.kind) {
        case 'issue': {
          const { after, cap, minAgeMs, more, day: claimed } = step
          return side.putIssued(nameOf(step.who), step.business, step.oids, {
            now: AT + after,
            cap,
            minAgeMs,
            hardCap: cap + more,
            ttlMs: CAPS.ttlMs,
            day: claimed,
          })
        }
        case 'stage':
          return side.stagePlays(
            step.plays.map((each) => ({ ...each, viewer: nameOf(each.who), playedAt: AT - each.age })),
            { now: AT, slot: step.slot },
          )
        case 'read':
          read = { slot: step.slot, staged: await side.readStaged(step.slot, viewers) }
          return undefined
        case 'fold late':
          return read && remove(read.slot, read.staged)
        case 'fold':
          return remove(
            step.slot,
            viewers.map((_, index) =>
              step.plays.filter(({ who }) => who === index).map(({ business, oid, age }) => ({ business, oid, playedAt: AT - age })),
            ),
          )
        case 'fold all': {
          const staged = await side.readStaged(step.slot, viewers)
          return remove(
            step.slot,
            staged.map((some, index) => (index === step.who ? some : [])),
          )
        }
      }
    }

    return async (step: Operation): Promise<unknown> => {
      const told = await perform(step)
      const of = viewers.flatMap((viewer) => BUSINESSES.map((business) => ({ viewer, business })))
      const seen = (await side.getSeenMany(of)).map((one, index) => {
        const at = Math.floor(index / BUSINESSES.length)
        const grew = Math.sign(one.folds - (folds[at] ?? 0))
        if (index % BUSINESSES.length === BUSINESSES.length - 1) folds[at] = one.folds
        return { issued: one.issued, staged: one.staged.toSorted(byText), grew }
      })
      const staged = await Promise.all(SLOTS.map((number) => side.readStaged(number, viewers)))
      const ring = await Promise.all(SLOTS.flatMap((number) => viewers.map((viewer) => isInRing(side, number, viewer, regions(), shape()))))
      return { told, seen, staged: staged.map((lists) => lists.map((list) => list.toSorted(byText))), ring }
    }
  }
}
