/**
 * A process for `kill -9`: it marks in calls of several sizes, several in flight, and persists some of them until it is killed. It prints
 * the number of each acknowledged call, negative once it is cleared. The marks of a call follow from its number (`putsOf`).
 *
 *     node mark-crash-writer.ts FOLDER FIRST STEP
 */
import { writeSync } from 'node:fs'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkStore } from '../../../../../subgraphs/thumbup/stores/lmdb/hot-store.ts'
import { BASE, putsOf } from './crash-calls.ts'

const CAP = 1_000_000

async function markForEver(folder: string, first: number, step: number): Promise<void> {
  const store = openLmdbMarkStore(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  let next = first
  async function client(): Promise<never> {
    for (;;) {
      const call = next
      next += step
      const marks = putsOf(call)
      await store.putMarks(marks, { now: BASE + call, cap: CAP })
      writeSync(1, `${call}\n`)
      if (call % 4 > 1) continue
      const read = await store.readDirtyMarks(marks)
      const persisted = read.flatMap(({ key, record }) => (record === undefined ? [] : [{ key, version: record.version, record }]))
      await store.clearDirtyMarks(persisted, CAP)
      writeSync(1, `-${call}\n`)
    }
  }
  await Promise.all([client(), client(), client(), client()])
}

const [folder, first, step] = process.argv.slice(2)
if (folder !== undefined) await markForEver(folder, Number(first), Number(step))
