import { expect, onTestFinished, test } from 'vitest'
import { HOUR, openSeen, seenConfig, serveSeen, settle } from '../opened.ts'
import { until } from '../../../../harness/until.ts'

test('expired filters are purged by the job that owns region 0, and by no other', async () => {
  const opened = openSeen()
  onTestFinished(opened.close)
  let owned: readonly number[] = [1]
  const log = {
    ...opened.stores.log,
    consumePlays: async (...of: Parameters<typeof opened.stores.log.consumePlays>) => ({
      ...(await opened.stores.log.consumePlays(...of)),
      ownedRegions: () => owned,
    }),
  }
  const purgeEveryMs = 60_000
  const served = serveSeen(opened, seenConfig({ purgeEveryMs }), { ...opened.stores, log })
  onTestFinished(served.stop)
  const job = await served.subgraph.startJob()
  onTestFinished(async () => {
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })
  const now = opened.clock.now()
  const filter = Buffer.from('any')
  await opened.plain.records.putFilters(['7', '8'].map((viewer) => ({ viewer, month: 600, filter, expected: 0, expiresAt: now })))
  const purges = (): number => opened.count('records.purgeExpired')
  for (let round = 0; round < 3; round++) {
    // A round looks at its regions at once.
    opened.clock.advance(purgeEveryMs)
    await settle()
  }
  expect([purges(), job.figures().purged]).toEqual([0, 0])
  owned = [0, 1]
  // Another job takes over as soon as something has been purged, and continues.
  opened.before('records.purgeExpired', async () => void (owned = [1]))
  await until('all are purged', () => {
    if (purges() === 0) opened.clock.advance(purgeEveryMs)
    return job.figures().purged === 2
  })
  await settle()
  expect(purges()).toBe(1)
})
