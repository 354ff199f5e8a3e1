/**
 * A process for `kill -9`: it applies calls of marks of the same keys as its twin, with an offset each, until it is killed. In between it
 * archives, and purges the undone marks of earlier processes. It prints the number of each acknowledged call. The rows of a call follow
 * from its number (`marksOf`).
 *
 *     node mark-writer.ts FOLDER FIRST STEP
 */
import { writeSync } from 'node:fs'
import type { Mark } from '../../../../../core/domain.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbMarkRecords } from '../../../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import type { MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'

export const BASE = 1_700_000_000_000
export const VIEWERS = 30
export const OIDS = 5
export const STREAM = 'calls'
const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE', 'LIKE']

/** 1 to 40 rows. The number of the call is their version and orders them. */
export function marksOf(call: number): MarkRow[] {
  return Array.from({ length: 1 + (call % 40) }, (_, index) => ({
    key: { viewer: String((call + index) % VIEWERS), business: 1, oid: String((call + index * 7) % OIDS) },
    record: { mark: MARKS[(call * 3 + index) % 4] ?? 'NONE', markedAt: BASE + call, version: call },
  })).filter(({ key }, index, rows) => rows.findIndex((row) => row.key.viewer === key.viewer && row.key.oid === key.oid) === index)
}

async function writeOn(folder: string, first: number, step: number): Promise<never> {
  const store = openLmdbMarkRecords(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  for (let call = first; ; call += step * 3) {
    const calls = [call, call + step, call + 2 * step]
    const housekeeping = call % 4 === 0 ? [store.archiveMarks(BASE + call - 20, 30), store.purgeUndone(BASE + first - 1_000, 30)] : []
    const applying = calls.map(async (number) => {
      await store.applyMarks(marksOf(number), [{ stream: STREAM, partition: first % 2, offset: number }])
      writeSync(1, `${number}\n`)
    })
    await Promise.all([...applying, ...housekeeping])
  }
}

const [, file, folder, first, step] = process.argv
if (file === import.meta.filename && folder !== undefined) await writeOn(folder, Number(first), Number(step))
