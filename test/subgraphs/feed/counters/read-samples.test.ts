/** Reads of posts, counted from the reports of history. */
import { hash } from 'node:crypto'
import { utcDayOf } from '../../../../core/days.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeServiceFolder, startService, type Service } from '../../../../harness/deployment/service.ts'
import { makeFeedClient, newViewer } from '../../../support/feed-client.ts'

const REPORTS = `mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }`
const READS = 'query ($ids: [ID!]!) { posts(ids: $ids) { readCount } }'
const WEIGHT = 4
const VIEWERS = 400

describe('reads with a sample of one in four', () => {
  const { folder, remove } = makeServiceFolder()
  let service: Service
  beforeAll(async () => {
    service = await startService({ folder, settings: { feed: { readSample: WEIGHT } } })
  })
  afterAll(async () => {
    expect(await service.stop()).toBe(0)
    remove()
  })
  const { data, published } = makeFeedClient(() => service.url)
  const write = { 'x-viewer-scopes': 'progress:write-any' }
  const send = (reports: object[]) => data('service', REPORTS, { reports }, write)
  const readsOf = async (viewer: string, id: string): Promise<number> => (await data(viewer, READS, { ids: [id] })).posts[0].readCount
  const report = (viewer: string, id: string, viewedAt: number) => ({
    viewer,
    business: 'post',
    id,
    position: 60_000,
    device: 'tv',
    viewedAt,
  })

  test('first plays of a day count with their weight, and repetitions, heartbeats and glances count nothing', async () => {
    const [author, now] = [newViewer(), Date.now()]
    const id = await published(author, { text: 'read me' })
    const reports = Array.from({ length: VIEWERS }, (_, at) => report(`reader-${at}`, id, now - 60_000))
    await send(reports)
    const sampled = reports.filter(({ viewer, viewedAt }) => {
      const text = `${utcDayOf(viewedAt)}:${id}:${viewer}`
      return hash('sha1', text, 'buffer').readUInt32BE(0) % WEIGHT === 0
    })
    const count = sampled.length * WEIGHT
    await expect.poll(() => readsOf(author, id)).toBe(count)
    // 400 viewers, binomial with p = 1/4: five standard deviations of the estimate are 173.
    expect(Math.abs(count - VIEWERS)).toBeLessThan(173)
    await send(reports)
    await send(reports.map((each) => ({ ...each, viewedAt: now - 30_000, position: 75_000 })))
    await send(reports.map((each) => ({ ...each, viewer: `glance-${each.viewer}`, position: 0 })))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await readsOf(author, id)).toBe(count)
  })

  test('a read of a restricted post by a viewer outside its audience, or of no post, counts nothing', async () => {
    const [author, now] = [newViewer(), Date.now()]
    const id = await published(author, { text: 'restricted', audience: ['friend'] })
    await send(Array.from({ length: 100 }, (_, at) => report(`stranger-${at}`, id, now)))
    await send(Array.from({ length: 100 }, (_, at) => report(`stranger-${at}`, String(BigInt(id) + 65_536n), now)))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await readsOf(author, id)).toBe(0)
  })
})
