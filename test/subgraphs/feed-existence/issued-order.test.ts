/** What of one call of `recordIssued` is remembered, when it has more ids than the cap has room for. */
import { expect, onTestFinished, test } from 'vitest'
import { openSeen, seenConfig, serveSeen, viewerOf } from './opened.ts'

test('of 200 ids in one call, with room for 100, the last 100 of the list are remembered; of one that stands there twice its last place counts', async () => {
  const opened = openSeen()
  onTestFinished(opened.close)
  const served = serveSeen(opened, seenConfig({ issuedCap: 100, issuedHardCap: 100 }))
  onTestFinished(served.stop)
  // Their order as texts is another one.
  const ids = Array.from({ length: 199 }, (_, at) => String((at * 7_919) % 10_007))
  await served.subgraph.service.recordIssued(viewerOf('7'), 'video', [...ids, ids[3] as string])
  expect(new Set(await served.unseen('7', ids))).toEqual(new Set(ids.slice(0, 100).filter((id) => id !== ids[3])))
})
