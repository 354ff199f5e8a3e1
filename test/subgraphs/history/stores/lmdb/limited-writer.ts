/**
 * A process whose file size is limited by `ulimit -f`. It writes, several calls in flight, until a call is refused. Then it prints the
 * error codes and the results of further reads and smaller writes, and ends. `node limited-writer.ts FOLDER`
 */
import type { PutOutcome } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { BASE, callOf } from './crash-writer.ts'

const environment = openEnvironment(process.argv[2] ?? '', { regions: 100, sizeMaxGb: 1 })
const store = openLmdbHotStore(environment)
const put = (call: number): Promise<PutOutcome[]> => store.putProgress(callOf(call), { now: BASE + call, timelineCap: 1_000_000 })

const acknowledged: number[] = []
const codes = new Set<unknown>()
for (let call = 1; codes.size === 0 && call < 20_000; call += 4) {
  const calls = [call, call + 1, call + 2, call + 3]
  const results = await Promise.allSettled(calls.map(put))
  for (const [index, result] of results.entries()) {
    if (result.status === 'fulfilled') acknowledged.push(call + index)
    else codes.add(result.reason.code)
  }
}
const { entries } = await store.listTimeline('1', [1], undefined, 10)
await environment.close()
console.log(JSON.stringify({ acknowledged, codes: [...codes], reads: entries.length }))
