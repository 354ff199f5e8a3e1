import { describe, expect, it } from 'vitest'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { startReconciler } from '../../../../subgraphs/thumbup/persist/reconciler.ts'
import type { CountCache } from '../../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkRecords } from '../../../../subgraphs/thumbup/stores/record-store.ts'

const EVERY_MS = 1_000

type Caches = { getCountsMany: CountCache['getCountsMany']; putCounts?: CountCache['putCounts']; others?: Caches[] }
const EMPTY: Caches = { getCountsMany: async (some) => some.map(() => undefined) }

/** Subjects 100, 101 and so on with these numbers of likes, the subjects of each recount, and all errors. */
function setup(likes: readonly number[], cache = EMPTY) {
  const recounts: string[][] = []
  const errors: unknown[] = []
  const subjects = likes.map((count, at) => ({ business: 1, oid: String(100 + at), counts: { likes: count, dislikes: 0, version: 1 } }))
  const records = {
    listSubjects: async (_: number, after: string | undefined, limit: number) =>
      subjects.filter(({ oid }) => after === undefined || oid > after).slice(0, limit),
    async recount(some: readonly { oid: string }[]) {
      recounts.push(some.map(({ oid }) => oid))
      return []
    },
    listOwners: async () => [],
    getCountsMany: async (some: readonly unknown[]) => some.map(() => ({ likes: 1, dislikes: 0, version: 1 })),
  } as unknown as MarkRecords
  const clock = makeSteppedClock()
  const options = { reconcileEveryMs: EVERY_MS, businesses: [1] }
  const reconciler = startReconciler(
    clock,
    { records, cache: cache as CountCache },
    () => true,
    options,
    (error) => errors.push(error),
  )
  return { clock, recounts, reconciler, errors }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))

describe('the reconciler', () => {
  it('recounts so many subjects at a time as have 20,000 rows together', async () => {
    const { clock, recounts, reconciler, errors } = setup([9_000, 9_000, 9_000, 100, 19_900, 1])
    for (let round = 0; round < 4; round++) {
      clock.advance(EVERY_MS)
      await turns()
    }
    expect(recounts).toStrictEqual([
      ['100', '101'],
      ['102', '103'],
      ['104', '105'],
    ])
    expect(reconciler.figures()).toMatchObject({ reconciled: 6, drift: 0, walks: 1 })
    expect(errors).toEqual([])
    await reconciler.stop()
  })

  it('rests longer after a subject that has more rows', async () => {
    const { clock, recounts, reconciler, errors } = setup([100_000, 5])
    clock.advance(EVERY_MS)
    await turns()
    clock.advance(4 * EVERY_MS)
    await turns()
    expect(recounts).toStrictEqual([['100']])
    clock.advance(EVERY_MS)
    await turns()
    expect(recounts).toStrictEqual([['100'], ['101']])
    expect(errors).toEqual([])
    await reconciler.stop()
  })

  it('rests for an hour at most, whatever a count says', async () => {
    const { clock, recounts, reconciler, errors } = setup([1e12, 5])
    clock.advance(EVERY_MS)
    await turns()
    clock.advance(3_600_000)
    await turns()
    expect(recounts).toStrictEqual([['100'], ['101']])
    expect(errors).toEqual([])
    await reconciler.stop()
  })

  it('goes on with the other caches and pages if a cache does not answer', async () => {
    const down = new Error('down')
    const put: string[] = []
    const old: Caches = {
      getCountsMany: async (some) => some.map(() => ({ likes: 0, dislikes: 0, version: 0 })),
      putCounts: async (counts) => void put.push(...counts.map(({ oid }) => oid)),
    }
    const { clock, recounts, reconciler, errors } = setup([19_000, 19_000], { getCountsMany: () => Promise.reject(down), others: [old] })
    for (let round = 0; round < 3; round++) {
      clock.advance(EVERY_MS)
      await turns()
    }
    expect(recounts).toStrictEqual([['100'], ['101']])
    expect(put).toEqual(['100', '101'])
    expect(errors).toEqual([down, down])
    expect(reconciler.figures()).toMatchObject({ reconciled: 2, cacheRefreshed: 2, walks: 1 })
    await reconciler.stop()
  })
})
