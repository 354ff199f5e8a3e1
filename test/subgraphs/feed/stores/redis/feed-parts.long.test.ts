/** The feed's hot store on a Cluster: a slot that moves loses nothing, and a lost master concerns only its own viewers and posts. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PartOutage } from '../../../../../core/outage/part-outage.ts'
import { regionOf } from '../../../../../core/regions.ts'
import type { Post } from '../../../../../subgraphs/feed/model/post.ts'
import { regionOfPost } from '../../../../../subgraphs/feed/packed/post-id.ts'
import type { FeedHotStore } from '../../../../../subgraphs/feed/stores/hot-store.ts'
import { openRedisFeedStore } from '../../../../../subgraphs/feed/stores/redis/hot-store.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { draftOf, inboxOf, optionsAt, outboxOf, publishOne } from '../../../../contracts/feed/posts.ts'
import { freshViewerIn } from '../../../../contracts/reports.ts'
import { mastersOf, moveSlot, replicaOf, serves, type Member } from '../../../../../harness/deployment/cluster-operator.ts'
import { redisIsHere, startCluster, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { until } from '../../../../../harness/until.ts'

const regions = 12
const tags = regionTags(regions)

describe.skipIf(!(await redisIsHere()))('the feed on a Cluster', () => {
  let servers: TestServers
  let nodes: Redis[] = []
  let store: FeedHotStore
  beforeAll(async () => {
    servers = await startCluster(['cluster-require-full-coverage no'])
    nodes = servers.ports.map((port) => new Redis(port, '127.0.0.1'))
    for (const node of nodes) node.on('error', () => undefined)
    store = openRedisFeedStore({ urls: servers.urls, regions, retryMaxMs: 5_000 })
    await store.check()
  })
  afterAll(async () => {
    for (const node of nodes) node.disconnect()
    await store.close()
    await servers.stop()
  })

  it('posts and inboxes of a region are complete after its slot has moved under load, and each id was given out once', async () => {
    const [author, viewer] = [freshViewerIn(0, regions), freshViewerIn(0, regions)]
    const posts: Post[] = []
    let moved = false
    const publishing = (async () => {
      while (!moved || posts.length < 100) {
        const post = await publishOne(store, draftOf(author))
        posts.push(post)
        await store.addToInboxes(post.id, [viewer], optionsAt())
        if (posts.length % 5 === 0) await store.delete(post, optionsAt())
      }
    })()
    await until('more than 20 posts are published', () => posts.length > 20)
    await moveSlot(nodes, tags[0] as string)
    moved = true
    await publishing
    const ids = posts.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const deleted = ids.filter((_, at) => (at + 1) % 5 === 0)
    expect(await outboxOf(store, author)).toMatchObject({ added: ids.filter((id) => !deleted.includes(id)), removed: deleted })
    expect((await inboxOf(store, viewer))?.added).toEqual(ids)
    expect((await store.getPostMany(ids)).map((post) => post?.deleted)).toEqual(ids.map((id) => deleted.includes(id)))
  })

  it('viewers and posts of other masters are served, and those of the lost master are named', async () => {
    const brief = openRedisFeedStore({ urls: servers.urls, regions, retryMaxMs: 500 })
    const lost = (await mastersOf(nodes))[2] as Member
    const held = await Promise.all(tags.map((tag) => serves(lost, tag)))
    const isOut = (viewer: string): boolean => held[regionOf(viewer, regions)] === true
    const authors = tags.map((_, region) => freshViewerIn(region, regions))
    const posts: Post[] = []
    for (const author of authors) posts.push(await publishOne(brief, draftOf(author)))
    // A new Cluster needs a moment to report its replicas.
    const replica = await vi.waitUntil(() => replicaOf(nodes, lost.id).catch(() => undefined), { timeout: 60_000 })
    await servers.kill(replica.options.port as number)
    await servers.kill(lost.port)

    expect(authors.filter(isOut).length).toBeGreaterThan(2)
    expect(authors.map((author) => brief.partOf?.(author))).toEqual(authors.map((_, region) => region))
    const everyRegion = new Map(authors.map((_, region) => [region, 0]))
    for (const call of [
      () => brief.getOutboxMany(authors),
      () => brief.addToInboxes(posts[0]?.id ?? '', authors, optionsAt()),
      () => brief.getPostMany(posts.map(({ id }) => id)),
      () => brief.listChanges(everyRegion),
    ]) {
      const failure = await call().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(PartOutage)
      expect(authors.map((author) => (failure as PartOutage).concerns(author))).toEqual(authors.map(isOut))
    }
    const served = posts.filter(({ author }) => !isOut(author))
    expect(await brief.getPostMany(served.map(({ id }) => id))).toEqual(served)
    expect(await brief.listChanges(new Map(served.map(({ id }) => [regionOfPost(id), 0])))).toHaveLength(served.length)
    await publishOne(brief, draftOf(served[0]?.author ?? ''))
    await expect(brief.publish(draftOf(authors.find(isOut) ?? ''), optionsAt())).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await brief.close()
    await servers.start()
  })
})
