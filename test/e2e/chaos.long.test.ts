/** The short form of `npm run bench -- chaos`. */
import { describe, expect, test } from 'vitest'
import { CONVERGED_MAX_MS, runChaos } from '../../harness/chaos/history/chaos.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

describe.skipIf(servers.includes(undefined))('two gateways and two jobs on servers that are killed and cut off', () => {
  test('lose nothing acknowledged, give no wrong answer, return no error for one failed store, and converge soon after', async ({
    signal,
  }) => {
    const said: string[] = []
    const { faults, tally, acknowledged, verification, wrong, deaths, convergedMs } = await runChaos({
      kills: 6,
      cuts: 3,
      seed: 20_261,
      atOnce: 3,
      pauseMaxMs: 400,
      deadMaxMs: 300,
      cutMaxMs: 2_000,
      viewers: 60,
      signal,
      progress: (text) => said.push(text),
    })
    const story = said.join('\n')
    expect(verification.losses, story).toEqual([])
    expect(wrong, story).toEqual([])
    expect(tally.errors(), story).toEqual({})
    expect(deaths, story).toEqual([])
    expect(verification.rows).toBe(verification.expectedRows)
    expect(convergedMs, story).toBeLessThan(CONVERGED_MAX_MS)
    expect(acknowledged).toBeGreaterThan(1_000)
    expect(Object.values(faults.kills).reduce((sum, count) => sum + count, 0)).toBe(6)
  })
})
