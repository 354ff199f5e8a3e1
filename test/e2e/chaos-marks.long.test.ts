/** The short form of `npm run bench -- chaos-marks`. */
import { describe, expect, test } from 'vitest'
import { MARKS_CONVERGED_MAX_MS, runMarkChaos } from '../../harness/chaos/thumbup/chaos.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

describe.skipIf(servers.includes(undefined))('two gateways and two jobs under mark load, on servers that are killed and cut off', () => {
  test(
    'lose no mark, count each once, never show an older one, keep caches equal to the database, and publish every transition',
    { timeout: 600_000 },
    async ({ signal }) => {
      const said: string[] = []
      const { faults, tally, acknowledged, verification, wrong, deaths, convergedMs } = await runMarkChaos({
        kills: 6,
        cuts: 3,
        seed: 20_264,
        atOnce: 3,
        pauseMaxMs: 400,
        deadMaxMs: 300,
        cutMaxMs: 2_000,
        viewers: 300,
        signal,
        progress: (text) => said.push(text),
      })
      const story = said.join('\n')
      expect(verification.losses, story).toEqual([])
      expect(verification.drift, story).toEqual([])
      expect(verification.cache, story).toEqual([])
      expect(verification.gaps, story).toEqual([])
      expect(wrong, story).toEqual([])
      expect(tally.errors(), story).toEqual({})
      expect(deaths, story).toEqual([])
      expect(convergedMs, story).toBeLessThan(MARKS_CONVERGED_MAX_MS)
      expect(verification.rows).toBe(verification.keys)
      expect(acknowledged).toBeGreaterThan(1_000)
      expect(verification.events).toBeGreaterThan(500)
      expect(Object.values(faults.kills).reduce((sum, count) => sum + count, 0)).toBe(6)
    },
  )
})
