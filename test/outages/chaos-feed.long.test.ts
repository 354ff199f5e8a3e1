/** The short form of `npm run bench -- chaos-feed`. */
import { describe, expect, test } from 'vitest'
import { FEED_CONVERGED_MAX_MS, runFeedChaos } from '../../harness/chaos/feed/chaos.ts'
import { memcachedIsHere } from '../../harness/deployment/memcached-nodes.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
const isHere = !servers.includes(undefined) && (await memcachedIsHere())

describe.skipIf(!isHere)('a feed on servers and Memcached nodes that are killed, cut off, stopped and emptied', () => {
  test(
    'shows no wrong page, no restricted or deleted post, loses nothing acknowledged, and counts each event once',
    { timeout: 600_000 },
    async ({ signal }) => {
      const said: string[] = []
      const { faults, nodeFaults, cache, tally, history, violations, deaths, convergedMs } = await runFeedChaos({
        kills: 6,
        cuts: 3,
        nodes: { kills: 3, stops: 3, flushes: 3, stopMaxMs: 1_500 },
        seed: 20_266,
        atOnce: 3,
        pauseMaxMs: 400,
        deadMaxMs: 300,
        cutMaxMs: 2_000,
        viewers: 24,
        signal,
        progress: (text) => said.push(text),
      })
      const story = said.join('\n')
      expect(violations.slice(0, 50), story).toEqual([])
      expect(tally.errors(), story).toEqual({})
      expect(deaths, story).toEqual([])
      expect(convergedMs, story).toBeLessThan(FEED_CONVERGED_MAX_MS)
      expect(cache.hits, story).toBeGreaterThan(0)
      expect(cache.nodesDown, story).toBe(0)
      expect(history.publications.length).toBeGreaterThan(150)
      expect(history.pages.length).toBeGreaterThan(300)
      expect(Object.values(faults.kills).reduce((sum, count) => sum + count, 0)).toBe(6)
      expect(Object.values(nodeFaults).reduce((sum, count) => sum + count, 0)).toBe(9)
    },
  )
})
