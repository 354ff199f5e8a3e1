/**
 * A process that reports while the hot store is down, until it is killed. Prints the number of each acknowledged report.
 *
 *     node journaling-process.ts FOLDER REDIS-URL
 */
import { writeSync } from 'node:fs'
import { openHistoryOnRedis } from './history-on-redis.ts'

const [data = '', url = ''] = process.argv.slice(2)
const { service } = await openHistoryOnRedis([url], data, undefined, false)
let next = 1
async function report(): Promise<never> {
  for (;;) {
    const position = next++
    const viewer = { id: String(1 + (position % 10)), scopes: [] }
    const [answer] = await service.report(viewer, [{ business: 'video', id: String(position), position: 10_000 + position }], new Set())
    if (answer?.outcome === 'ACCEPTED') writeSync(1, `${position}\n`)
  }
}
await Promise.all([report(), report(), report(), report()])
