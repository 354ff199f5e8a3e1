/** The short form of `npm run bench -- chaos-seen`. */
import { describe, expect, test } from 'vitest'
import { SEEN_CONVERGED_MAX_MS, runSeenChaos } from '../../harness/chaos/feed-existence/chaos.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

describe.skipIf(servers.includes(undefined))('two gateways and two folding workers, on servers that are killed and cut off', () => {
  test(
    'lose no play, not even during a migration from a legacy Redis, and show no acknowledged play again',
    { timeout: 600_000 },
    async ({ signal }) => {
      const said: string[] = []
      const { faults, tally, acknowledged, verification, migration, wrong, deaths, convergedMs, foldedMs } = await runSeenChaos({
        kills: 6,
        cuts: 3,
        seed: 20_265,
        atOnce: 3,
        pauseMaxMs: 400,
        deadMaxMs: 300,
        cutMaxMs: 2_000,
        viewers: 40,
        commandKills: 2,
        signal,
        progress: (text) => said.push(text),
      })
      const story = said.join('\n')
      expect(verification.losses, story).toEqual([])
      expect(wrong, story).toEqual([])
      expect(migration, story).toMatchObject({ mistakes: [], kills: 2, plays: 1_000 })
      // Undefined if a process found the legacy store unavailable, on a slow machine.
      expect(migration.notBack ?? 0, story).toBe(0)
      expect(tally.errors(), story).toEqual({})
      expect(deaths, story).toEqual([])
      expect(convergedMs, story).toBeLessThan(SEEN_CONVERGED_MAX_MS)
      expect(foldedMs, story).toBeLessThan(SEEN_CONVERGED_MAX_MS)
      for (const [way, least] of [
        ['API', 300],
        ['log', 50],
        ['late server', 50],
      ] as const)
        expect(acknowledged[way], way).toBeGreaterThan(least)
      expect(verification.records).toBeGreaterThan(200)
      expect(Object.values(faults.kills).reduce((sum, count) => sum + count, 0)).toBe(6)
    },
  )
})
