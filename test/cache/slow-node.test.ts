/** A node that answers each request, and each one late. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import { systemClock } from '../../core/clock.ts'
import { fixedValue } from '../../core/live-value.ts'
import { systemRandom } from '../../core/random.ts'
import { until } from '../../harness/until.ts'
import { stamped } from './recording.ts'

const PATIENCE_MS = 100
const ANSWER_MS = 30

/** Answers each read with a miss, `ANSWER_MS` after the one before. */
async function startSlowNode(): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let [last, rest] = [0, '']
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      const lines = (rest + data.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (!line.startsWith('gets')) continue
        last = Math.max(Date.now(), last) + ANSWER_MS
        setTimeout(() => socket.destroyed || socket.write('END\r\n'), last - Date.now())
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a slow node with a queue costs a read three patiences, later reads skip it, and it is used again after its last answer', async () => {
  const layout = { main: [await startSlowNode()], backup: [await startSlowNode()], l1: [] }
  const cache = makeTieredCache(systemClock, systemRandom, fixedValue(layout), (address) => makeMemcachedClient(systemClock, address), {
    nodePatienceMs: PATIENCE_MS,
  })
  onTestFinished(() => cache.stop())
  const read = async (key: string): Promise<number> => {
    const begun = performance.now()
    const [value] = await cache.getMany([key], async (keys) => keys.map(() => stamped('v', 1)))
    expect(value?.value.toString()).toBe('v')
    return performance.now() - begun
  }
  const isSkipped = () => cache.figures().nodes.some(({ isDown }) => isDown)
  // Each node would need 2.4 seconds for them.
  const times = await Promise.all(Array.from({ length: 80 }, (_, at) => read(`k${at}`)))
  expect(Math.max(...times)).toBeLessThan(2 * 3 * PATIENCE_MS + 500)
  expect(isSkipped()).toBe(true)
  expect(await read('later')).toBeLessThan(PATIENCE_MS)
  await until('the nodes are used again', () => !isSkipped())
  expect(await read('last')).toBeGreaterThanOrEqual(ANSWER_MS - 5)
  expect(cache.figures().nodes.map(({ opened }) => opened)).toEqual([0, 0])
})
