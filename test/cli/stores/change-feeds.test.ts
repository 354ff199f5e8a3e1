/** Change feeds of businesses with their own databases and caches: a failure of one must not affect another. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { refreshCaches } from '../../../cli/metrics/count-feeds.ts'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { makeFeedSwitch, type FeedSwitch } from '../../../subgraphs/thumbup/change-feed/feed-switch.ts'
import { openCountFeeds, type OpenFeed } from '../../../cli/stores/change-feeds.ts'
import {
  openMarkedStores,
  serveThumbup,
  thumbupConfig,
  type MarkedStores,
  type ServedThumbup,
} from '../../subgraphs/thumbup/marked-stores.ts'
import { quietLogger } from '../../../harness/samples/count-feeds.ts'
import { until } from '../../../harness/until.ts'

const BUSINESSES = [
  { number: 1, name: 'video', entity: 'Video' },
  { number: 2, name: 'article', entity: 'Article' },
  { number: 3, name: 'comic', entity: 'Comic' },
  { number: 4, name: 'audio', entity: 'Audio' },
]
/** Comic has its own cache in front of the common database. Article and audio have both. */
const OWN: Record<string, object> = {
  article: { redis: { urls: ['redis://article:1'] }, mysql: { url: 'mysql://u@article/x' } },
  comic: { redis: { urls: ['redis://comic:1'] } },
  audio: { redis: { urls: ['redis://audio:1'] }, mysql: { url: 'mysql://u@audio/x' } },
}
const config = makeConfig([
  {
    name: 'test',
    values: {
      businesses: BUSINESSES.map((business) => ({ ...business, thumbup: OWN[business.name] && { stores: OWN[business.name] } })),
      stores: { redis: { urls: ['redis://all:1'] }, kafka: { brokers: ['all:1'] }, mysql: { url: 'mysql://u@all/x' } },
      thumbup: { changes: { feed: 'binlog' } },
    },
  },
])

describe('while events of counts are followed', () => {
  let common: MarkedStores
  let article: MarkedStores
  let comic: MarkedStores
  let served: ServedThumbup
  let feeds: OpenFeed[]
  const running: FeedSwitch[] = []
  beforeEach(() => {
    ;[common, article, comic] = [openMarkedStores(), openMarkedStores(), openMarkedStores()]
    served = serveThumbup(common, thumbupConfig({ businesses: BUSINESSES }), { tenants: tenants() })
    feeds = openCountFeeds(config, systemClock, quietLogger, 'x', common.stores.events)
  })
  afterEach(async () => {
    for (const feed of running.splice(0)) await feed.stop()
    for (const feed of feeds) await feed.close()
    await served.stop()
    for (const stores of [common, article, comic]) await stores.close()
  })
  const tenants = () =>
    new Map([
      [2, article.stores],
      [3, comic.stores],
    ])
  const event = (business: number, likes: number, oid = 's') => ({
    ...{ id: `${business}-${oid}-${likes}`, business, oid, countedAt: Date.now() },
    counts: { likes, dislikes: 0, version: likes },
  })
  const append = (...events: ReturnType<typeof event>[]) => common.plain.events.appendEvents([], events)

  test('the feed of each database delivers the changes of its own businesses and no others', async () => {
    const brought = await Promise.all(
      feeds.map(async ({ tenant, fallback }) => {
        const heard: number[] = []
        const started = await fallback.start(async ({ counts }) => void heard.push(...counts.map(({ business }) => business)))
        return { tenant, heard, started }
      }),
    )
    await append(...[1, 2, 3, 4].map((business) => event(business, 1)), ...[4, 3, 2, 1].map((business) => event(business, 2)))
    await until('all have come', () => brought.reduce((sum, { heard }) => sum + heard.length, 0) >= 8)
    expect(brought.map(({ tenant, heard }) => [tenant, heard.toSorted((a, b) => a - b)])).toEqual([
      [undefined, [1, 1, 3, 3]],
      ['article', [2, 2]],
      ['audio', [4, 4]],
    ])
    for (const { started } of brought) await started.stop()
  })

  test('a failed cache delays no feed of another database', async () => {
    comic.set('redis', 'down')
    const stalled = { start: () => Promise.reject(new Error('the database refuses us')) }
    const { tenant, fallback } = feeds.find((feed) => feed.tenant === 'article') as OpenFeed
    const refresh = (some: Parameters<typeof refreshCaches>[2]) =>
      refreshCaches({ marks: common.stores, tenants: tenants() }, served.subgraph, some, tenant, () => undefined)
    const options = { staleAfterMs: 100, restartAfterMs: 60_000 }
    const feed = await makeFeedSwitch(systemClock, stalled, fallback, refresh, { onReload: () => undefined }, options)
    running.push(feed)
    await until('events are followed', () => feed.figures().active === 'fallback')
    let passed = 0
    const other = await common.plain.events.consumeCounts('other', async (some) => void (passed += some.length))
    await append(...Array.from({ length: 5_000 }, (_, at) => event(3, 1, `c${at}`)))
    await until('another group has heard of all of comic', () => passed >= 5_000)
    await append(event(2, 5))
    const cached = async () => (await article.plain.cache.getCountsMany([{ business: 2, oid: 's' }]))[0]?.likes
    await until('article goes on', async () => (await cached()) === 5)
    await other.stop()
  })
})
