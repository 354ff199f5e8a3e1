/** A `tidemark start` for all tests of a file about the feed, and its client. */
import { afterAll, beforeAll, expect } from 'vitest'
import { makeServiceFolder, startService, type Service } from '../../harness/deployment/service.ts'
import { makeFeedClient } from './feed-client.ts'

/** The service starts before the tests, and has a clean end after them. */
export function useFeedService() {
  const { folder, remove } = makeServiceFolder()
  let service: Service
  beforeAll(async () => {
    const quick = { flushAgeMaxMs: 100, sweepAfterMs: 1_000, sweepEveryMs: 200, noticeEveryMs: 20, countsWindowMs: 50 }
    service = await startService({ folder, settings: { feed: { followsMax: 4, ...quick } } })
  })
  afterAll(async () => {
    expect(await service.stop(), service.log()).toBe(0)
    remove()
  })
  const urlOf = (): string => service.url
  return { urlOf, ...makeFeedClient(urlOf) }
}
