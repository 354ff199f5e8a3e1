/** The checks of a capability for a deployment without it, or with a part of it: they are skipped with the reason. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../../cli/audit.ts'
import { feedBadInput } from '../../conformance/checks/feed-bad-input.ts'
import { feedCounts, feedStays } from '../../conformance/checks/feed-counts.ts'
import { feedFollows, followsStay } from '../../conformance/checks/feed-follows.ts'
import { feedPosts } from '../../conformance/checks/feed-posts.ts'
import { feedRestricted, restrictedStay } from '../../conformance/checks/feed-restricted.ts'
import { feedSubscriptions } from '../../conformance/checks/feed-subscriptions.ts'
import { markBadInput } from '../../conformance/checks/mark-bad-input.ts'
import { markLists, markListsStay } from '../../conformance/checks/mark-lists.ts'
import { markSums } from '../../conformance/checks/mark-sums.ts'
import { markWrites } from '../../conformance/checks/mark-writes.ts'
import { ask, makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'

const MARKS = [...markWrites, ...markLists, ...markListsStay, ...markSums, ...markBadInput].map(({ id }) => id)
const FEED = [
  ...[...feedFollows, ...feedPosts, ...feedRestricted, ...feedCounts, ...feedSubscriptions],
  ...[...feedBadInput, ...followsStay, ...restrictedStay, ...feedStays],
].map(({ id }) => id)
const thumbup = { flushAgeMaxMs: 20, windowMs: 50, countsWindowMs: 20, sweepAfterMs: 1_000, sweepEveryMs: 200 }

const folders = [makeServiceFolder(), makeServiceFolder()] as const
let without: Service
let partly: Service
beforeAll(async () => {
  const video = { number: 1, name: 'video', entity: 'Video', thumbup: { enabled: false } }
  const article = { number: 2, name: 'article', entity: 'Article', thumbup: { dislikes: false } }
  without = await startService({ folder: folders[0].folder, settings: { businesses: [video] } })
  partly = await startService({ folder: folders[1].folder, settings: { thumbup, businesses: [video, article] } })
})
afterAll(async () => {
  await without?.stop()
  await partly?.stop()
  for (const { remove } of folders) remove()
})

async function run(url: string, ids: readonly string[], business?: string): Promise<string[]> {
  const lines: string[] = []
  const options = { url, second: undefined, job: undefined, identity: { kind: 'headers' }, business, conflict: 'newest' } as const
  const ok = await audit({ ...options, glance: true, waitMs: 30_000, eventMaxMs: 30_000, only: ids }, (line) => lines.push(line))
  expect(lines.filter((line) => line.startsWith('FAILED'))).toEqual([])
  expect(ok).toBe(true)
  return lines.filter((line) => /^(ok|skipped)/.test(line))
}

test('a deployment without thumbup skips all of its checks with the reason', async () => {
  const lines = await run(without.url, MARKS)
  expect(lines).toHaveLength(MARKS.length)
  expect(lines.filter((line) => !line.endsWith('(this deployment does not serve thumbup)'))).toEqual([])
})

test('a deployment without the feed skips all of its checks with the reason', async () => {
  const lines = await run(partly.url, FEED)
  expect(lines).toHaveLength(FEED.length)
  expect(lines.filter((line) => !line.endsWith('(this deployment does not serve the feed)'))).toEqual([])
})

test('a business without likes skips all checks with the reason', async () => {
  const lines = await run(partly.url, MARKS)
  expect(lines.filter((line) => !line.includes('thumbup does not serve the business video'))).toEqual([])
})

test('without dislikes all other checks run, and no mark of the audit remains', async () => {
  const lines = await run(partly.url, MARKS, 'article')
  const left = lines.filter((line) => line.startsWith('skipped')).map((line) => line.split(/ +/)[1])
  expect(new Set(left)).toEqual(new Set(['counts-add-up', 'mark-across-processes', 'mark-moves-both-counts', 'marks-of-two-businesses']))
  const query = '{ subjects(business: "article", ids: ["1", "007", "A"]) { likeCount } }'
  const none = { data: { subjects: [{ likeCount: 0 }, { likeCount: 0 }, { likeCount: 0 }] } }
  await expect.poll(() => ask(partly.url, undefined, query), { timeout: 60_000, interval: 100 }).toEqual(none)
})
