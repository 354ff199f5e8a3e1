/** Contract of the record store of filters: reading, folding, and writing under the version check lose nothing with concurrent folds. */
import { expect, it } from 'vitest'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import type { SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'
import { filterKey, filterWrite, freshViewers, numbersOf, setBytes } from './seen-filters.ts'
import type { SeenRecordsSubject } from './record-store-subject.ts'

/** Folds the numbers of each viewer into their filter, and repeats refused writes. Returns the number of repetitions. */
async function fold(store: SeenRecords, numbers: ReadonlyMap<string, readonly number[]>): Promise<number> {
  let refused = -1
  for (let left = [...numbers.keys()]; left.length > 0; refused += 1) {
    const stored = await store.getFilters(left.map((viewer) => filterKey(viewer)))
    const writes = left.map((viewer, at) => {
      const filter = setBytes([...numbersOf(stored[at]?.filter), ...(numbers.get(viewer) ?? [])])
      return filterWrite(viewer, filter, { expected: stored[at]?.version ?? 0 })
    })
    const written = await store.putFilters(writes)
    left = left.filter((_, at) => written[at] !== true)
  }
  return refused
}

export function seenFoldingContract({ store, second }: SeenRecordsSubject): void {
  it('six workers that fold into the same filters at once lose nothing of each other', async () => {
    const viewers = freshViewers(12)
    const folded = new Map(viewers.map((viewer) => [viewer, new Set<number>()]))
    let writes = 0
    const worker = async (number: number): Promise<void> => {
      const random = seededRandom(number)
      for (let round = 0; round < 15; round++) {
        const some = viewers.filter(() => randomBelow(random, 2) === 0)
        const own = (number % 2 === 0 ? some : some.toReversed()).map((viewer, at): [string, number[]] => [
          viewer,
          [number * 1_000_000 + round * 1_000 + at, randomBelow(random, 50)],
        ])
        for (const [viewer, added] of own) for (const each of added) folded.get(viewer)?.add(each)
        await fold(number % 2 === 0 ? store() : second(), new Map(own))
        writes += own.length
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map(worker))
    const stored = await store().getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(stored.map((each) => numbersOf(each?.filter))).toEqual(
      viewers.map((viewer) => [...(folded.get(viewer) ?? [])].toSorted((a, b) => a - b)),
    )
    expect(stored.reduce((sum, each) => sum + (each?.version ?? 0), 0)).toBe(writes)
  })

  it('hundreds of viewers new to two concurrent workers are written by one, then by the other', async () => {
    const viewers = freshViewers(400)
    const numbers = (first: number): Map<string, number[]> => new Map(viewers.map((viewer, at) => [viewer, [first + at]]))
    const reversed = new Map([...numbers(5_000)].toReversed())
    await Promise.all([fold(store(), numbers(1)), fold(second(), reversed)])
    const stored = await store().getFilters(viewers.map((viewer) => filterKey(viewer)))
    expect(stored.map((each) => [each?.version, numbersOf(each?.filter)])).toEqual(viewers.map((_, at) => [2, [1 + at, 5_000 + at]]))
  })
}
