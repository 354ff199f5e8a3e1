/**
 * Each disaster of the ladder on real servers, under load: every call is answered without error, the database is protected, and afterwards
 * every mark is stored. The figures are printed; `npm run bench -- outage-marks` is the long form.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  DISASTERS,
  READS_AT_ONCE_MAX,
  describeDisaster,
  runDisaster,
  startStage,
  type Stage,
} from '../../harness/chaos/thumbup/disasters.ts'
import { service } from '../../harness/deployment/services.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]

describe.skipIf(servers.includes(undefined))('under mark load,', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await startStage()
  })
  afterAll(async () => stage.remove())

  test.each(DISASTERS.map((disaster, at) => ({ ...disaster, seed: 500 + 10 * at })))(
    '$title: every call is answered without error, the database is protected, and every mark is stored',
    async (disaster) => {
      const said: string[] = []
      const figures = await runDisaster(stage, disaster, { seed: disaster.seed, beforeMs: 1_000, downMs: disaster.shortMs }, (text) =>
        said.push(text),
      )
      console.log(describeDisaster(disaster, figures))
      const { verification, errors, wrong } = figures
      expect(errors).toEqual({})
      expect(figures.answered).toBe(figures.calls)
      expect(wrong.slice(0, 10)).toEqual([])
      expect(verification.losses.slice(0, 10)).toEqual([])
      expect(verification.drift.slice(0, 10)).toEqual([])
      expect(verification.cache.slice(0, 10)).toEqual([])
      expect(verification.gaps.slice(0, 10)).toEqual([])
      expect(figures.calls).toBeGreaterThan(50)
      if (disaster.names !== undefined) expect(figures.named.of).toBeGreaterThan(10)
      expect(figures.readsAtOnce).toBeLessThanOrEqual(READS_AT_ONCE_MAX)
    },
  )
})
