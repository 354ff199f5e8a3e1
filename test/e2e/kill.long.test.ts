/** The short form of `npm run bench -- kill`. */
import { expect, test } from 'vitest'
import { KILL_SETTINGS, killRounds } from '../../harness/faults/kill-rounds.ts'
import { makeServiceFolder } from '../../harness/deployment/service.ts'

test('every report acknowledged before a kill is in the timeline after it, and in the record store once quiet', async () => {
  const { folder, remove } = makeServiceFolder()
  try {
    const report = await killRounds({
      folder,
      settings: KILL_SETTINGS,
      rounds: 8,
      seed: 20_261,
      writeMaxMs: 1_000,
      viewers: 40,
      subjects: 50,
    })
    expect(report.losses).toEqual([])
    expect(report.acknowledged).toBeGreaterThan(1_000)
    expect(report.rows).toBe(report.expectedRows)
  } finally {
    remove()
  }
})
