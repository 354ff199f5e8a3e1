/** The log lines of the cache in a running process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openFeedCache } from '../../../cli/stores/feed-cache.ts'
import { followConfig } from '../../../cli/process/live-config.ts'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNode } from '../../../harness/deployment/memcached-nodes.ts'
import { until } from '../../../harness/until.ts'

describe.skipIf(!(await memcachedIsHere()))('the log of a process', () => {
  test('has a line when a node fails, one when it answers again, and one for a new layout with its version', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-feed-cache-'))
    const path = join(folder, 'layout.json')
    const { nodes, stop } = await startMemcachedNodes([[], []])
    const [first, second] = nodes as [MemcachedNode, MemcachedNode]
    writeFileSync(path, JSON.stringify({ cache: { layout: { main: [first.address] } } }))
    const sources = [{ name: 'test', values: { live: { from: path } } }]
    const live = await followConfig({ config: makeConfig(sources), sources }, systemClock, () => undefined)
    const lines: object[] = []
    const say = (fields: object, message: string) => void lines.push({ message, ...fields })
    const cache = openFeedCache(live, systemClock, { info: say, warn: say })
    try {
      await first.kill()
      const stamped = { value: Buffer.from('a'), version: 1 }
      expect(await cache.set('a', stamped)).toBe(false)
      expect(lines).toMatchObject([{ message: 'a node of the cache does not answer', address: first.address }])
      await first.start()
      await until('the node answers', () => lines.length === 2)
      expect(lines[1]).toEqual({ message: 'a node of the cache answers again', address: first.address })
      expect(await cache.set('a', stamped)).toBe(true)
      writeFileSync(path, JSON.stringify({ cache: { layout: { main: [first.address, second.address] } } }))
      await until('the new layout', () => lines.some((line) => 'version' in line))
      expect(lines.at(-1)).toEqual({ message: 'a new layout of the cache is in use', version: expect.any(Number) as number })
      expect(cache.figures().nodes).toHaveLength(2)
    } finally {
      await cache.stop()
      await live.stop()
      await stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
