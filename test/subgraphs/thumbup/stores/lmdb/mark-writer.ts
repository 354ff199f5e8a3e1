/**
 * A process for `kill -9`: it applies calls of marks of the same keys as its twin, with an offset each, until it is killed. In between it
 * archives, and purges the undone marks of earlier processes. It prints the number of each acknowledged call. The rows of a call follow
 * from its number (`rowsOf`).
 *
 *     node mark-writer.ts FOLDER FIRST STEP
 */
import { writeSync } from 'node:fs'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkRecords } from '../../../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { BASE, STREAM, rowsOf } from './crash-calls.ts'

async function writeOn(folder: string, first: number, step: number): Promise<never> {
  const store = openLmdbMarkRecords(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  for (let call = first; ; call += step * 3) {
    const calls = [call, call + step, call + 2 * step]
    const housekeeping = call % 4 === 0 ? [store.archiveMarks(BASE + call - 20, 30), store.purgeUndone(BASE + first - 1_000, 30)] : []
    const applying = calls.map(async (number) => {
      await store.applyMarks(rowsOf(number), [{ stream: STREAM, partition: first % 2, offset: number }])
      writeSync(1, `${number}\n`)
    })
    await Promise.all([...applying, ...housekeeping])
  }
}

const [folder, first, step] = process.argv.slice(2)
if (folder !== undefined) await writeOn(folder, Number(first), Number(step))
