/**
 * A process for `kill -9`: it folds numbers into the same filters as its twin until it is killed. It prints each number once the number is
 * in every filter.
 *
 *     node seen-writer.ts FOLDER FIRST STEP
 */
import { writeSync } from 'node:fs'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbSeenRecords } from '../../../../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { filterKey, filterWrite, numbersOf, setBytes } from '../../../../contracts/feed-existence/seen-filters.ts'

export const SEEN_VIEWERS = ['1', '2', 'ü', '9223372036854775808', '5']

async function foldOn(folder: string, first: number, step: number): Promise<never> {
  const store = openLmdbSeenRecords(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  for (let number = first; ; number += step) {
    for (let left = SEEN_VIEWERS; left.length > 0;) {
      const stored = await store.getFilters(left.map((viewer) => filterKey(viewer)))
      const writes = left.map((viewer, at) =>
        filterWrite(viewer, setBytes([...numbersOf(stored[at]?.filter), number]), { expected: stored[at]?.version ?? 0 }),
      )
      const written = await store.putFilters(writes)
      left = left.filter((_, at) => written[at] !== true)
    }
    writeSync(1, `${number}\n`)
  }
}

const [, file, folder, first, step] = process.argv
if (file === import.meta.filename && folder !== undefined) await foldOn(folder, Number(first), Number(step))
