/** The remembered ids of a `recordIssued` call with more ids than the cap. */
import { expect, onTestFinished, test } from 'vitest'
import { openSeen, seenConfig, serveSeen, viewerOf } from './opened.ts'

test('with 200 issued ids and a cap of 100, the last 100 are remembered, and a duplicate counts at its last place', async () => {
  const opened = openSeen()
  onTestFinished(opened.close)
  const served = serveSeen(opened, seenConfig({ issuedCap: 100, issuedHardCap: 100 }))
  onTestFinished(served.stop)
  // Their text order is different.
  const ids = Array.from({ length: 199 }, (_, at) => String((at * 7_919) % 10_007))
  await served.subgraph.service.recordIssued(viewerOf('7'), 'video', [...ids, ids[3] as string], new Set())
  expect(new Set(await served.unseen('7', ids))).toEqual(new Set(ids.slice(0, 100).filter((id) => id !== ids[3])))
})
