/**
 * A process for `kill -9`: it writes calls of several sizes, several in flight, until it is killed. It prints the number of each
 * acknowledged call. The content of a call follows from its number (`callOf`).
 *
 *     node crash-writer.ts FOLDER FIRST STEP
 */
import { writeSync } from 'node:fs'
import type { ProgressWrite } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { report, write } from '../../../../contracts/reports.ts'

export const VIEWERS = 40
export const BASE = 1_700_000_000_000

/** 1 to 60 writes for viewers of several regions. No other call has these keys. */
export function callOf(call: number): ProgressWrite[] {
  return Array.from({ length: 1 + (call % 60) }, (_, index) =>
    write(
      String(1 + ((call + index) % VIEWERS)),
      `${call}-${index}`,
      report(BASE + call, { position: call, device: 'd'.repeat(call % 60) }),
    ),
  )
}

async function writeForEver(folder: string, first: number, step: number): Promise<void> {
  const store = openLmdbHotStore(openEnvironment(folder, { regions: 100, sizeMaxGb: 1 }))
  let next = first
  async function client(): Promise<never> {
    for (;;) {
      const call = next
      next += step
      await store.putProgress(callOf(call), { now: BASE + call, timelineCap: 1_000_000 })
      writeSync(1, `${call}\n`)
    }
  }
  await Promise.all([client(), client(), client(), client()])
}

const [folder, first, step] = process.argv.slice(2)
if (import.meta.main && folder !== undefined) await writeForEver(folder, Number(first), Number(step))
