/** Findings about the nodes of the cache in a running process. They refuse no start. */
import { Registry } from '@prometheus-io/client'
import { describe, expect, test } from 'vitest'
import { startStoreWatch } from '../../../cli/process/store-watch.ts'
import { cacheExaminations } from '../../../cli/stores/examine-cache.ts'
import { makeConfig } from '../../../config/config.ts'
import { systemClock } from '../../../core/clock.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNode } from '../../../harness/deployment/memcached-nodes.ts'
import { until } from '../../../harness/until.ts'

describe.skipIf(!(await memcachedIsHere()))('the watch over the nodes of the cache', () => {
  test('a node that is down at the start refuses no start in production, is a warning, and its return is reported', async () => {
    const { nodes, stop } = await startMemcachedNodes([[], []])
    const [down, up] = nodes as [MemcachedNode, MemcachedNode]
    await down.kill()
    const config = makeConfig([{ name: 'test', values: { cache: { layout: { main: [down.address, up.address] } } } }])
    const lines: object[] = []
    const say = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields })
    const log = { error: say('error'), warn: say('warn'), info: say('info') } as never
    const registry = new Registry()
    const options = { production: true, allow: [], everyMs: 50 }
    const watch = await startStoreWatch(cacheExaminations(config, systemClock), options, systemClock, log, registry)
    try {
      expect(watch.warnings()).toEqual(['memcached-down'])
      expect(lines).toEqual([
        {
          ...{ level: 'warn', message: 'a node of the cache may make pages slower', store: 'cache', finding: 'memcached-down' },
          reason: expect.stringContaining(`main ${down.address}: `),
        },
      ])
      expect(await registry.metrics()).toMatch(/tidemark_store_findings\{.*finding="memcached-down".*\} 1/)
      await down.start()
      await until('the finding is gone', () => watch.warnings().length === 0)
      expect(lines.at(-1)).toMatchObject({ level: 'info', store: 'cache', finding: 'memcached-down' })
    } finally {
      watch.stop()
      await stop()
    }
  })
})
