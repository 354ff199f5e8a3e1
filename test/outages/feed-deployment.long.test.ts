/** The feed on a whole deployment: two gateways, its job and the job of likes, and the outage of each server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { ask } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'
import { DELETE, FOLLOW, HOME, newKey, newViewer, PUBLISH, UNFOLLOW } from '../support/feed-client.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
const QUIET_MAX_MS = 60_000

describe.skipIf(servers.includes(undefined))('the feed on a deployment', () => {
  let deployment: Deployment
  beforeAll(async () => {
    const quick = { flushAgeMaxMs: 100, sweepAfterMs: 2_000, sweepEveryMs: 500 }
    deployment = await startDeployment({
      gateways: 2,
      markJobs: 1,
      feedJobs: 1,
      settings: { feed: { ...quick, countsWindowMs: 100 }, thumbup: { ...quick, windowMs: 100 } },
    })
  })
  afterAll(async () => deployment?.remove())

  const url = (gateway: number) => deployment.gateways[gateway]?.url as string
  const call = (gateway: number, viewer: string, query: string, variables: Record<string, unknown> = {}) =>
    ask(url(gateway), viewer, query, variables) as Promise<Awaited<ReturnType<typeof ask>> & { extensions?: { degraded?: string[] } }>
  const publish = async (gateway: number, author: string, input: Record<string, unknown>) => {
    const { data, errors } = await call(gateway, author, PUBLISH, { input: { clientKey: newKey(), ...input } })
    return { id: data?.publishPost?.post?.id as string, code: errors?.[0]?.extensions.code }
  }
  const home = async (gateway: number, viewer: string) => {
    const { data, errors, extensions } = await call(gateway, viewer, HOME)
    expect(errors).toBeUndefined()
    return { ids: data.homeFeed?.edges.map((edge: { node: { id: string } }) => edge.node.id), degraded: extensions?.degraded ?? [] }
  }
  const outcomes = async (gateway: number, viewer: string, query: string, ids: string[]) => {
    const { data } = await call(gateway, viewer, query, { ids })
    return (data.follow ?? data.unfollow).results.map(({ outcome }: { outcome: string }) => outcome)
  }
  const converged = () => waitUntilConverged(deployment, QUIET_MAX_MS)

  test('a change at one gateway is in the next answer of the other', async () => {
    const [author, friend, viewer] = [newViewer(), newViewer(), newViewer()]
    expect(await home(1, viewer)).toEqual({ ids: [], degraded: [] })
    expect(await outcomes(0, viewer, FOLLOW, [author])).toEqual(['CHANGED'])
    const first = await publish(0, author, { text: 'a' })
    expect(await home(1, viewer)).toEqual({ ids: [first.id], degraded: [] })
    const secret = await publish(1, author, { text: 'b', audience: [friend] })
    expect((await home(0, friend)).ids).toEqual([secret.id])
    expect((await home(0, viewer)).ids).toEqual([first.id])
    const second = await publish(1, author, { text: 'c' })
    expect((await home(0, viewer)).ids).toEqual([second.id, first.id])
    await call(1, author, DELETE, { id: first.id })
    expect((await home(0, viewer)).ids).toEqual([second.id])
    expect(await outcomes(1, viewer, UNFOLLOW, [author])).toEqual(['CHANGED'])
    expect((await home(0, viewer)).ids).toEqual([])
  })

  test('posts, counters and follows reach the record store, and a job that was killed loses nothing', async () => {
    const [author, viewer] = [newViewer(), newViewer()]
    await outcomes(0, viewer, FOLLOW, [author])
    const [job] = deployment.feedJobs
    await job?.kill()
    const ids: string[] = []
    for (let at = 0; at < 20; at++) ids.unshift((await publish(at % 2, author, { text: `post ${at}` })).id)
    await job?.start()
    await converged()
    const stores = await deployment.openStores()
    try {
      const posts = await stores.feed?.records.getPostMany(ids)
      expect(posts?.map((post) => post?.text)).toEqual(ids.map((_, at) => `post ${19 - at}`))
      const total = await stores.feed?.counters.records.getTotalsMany([{ business: 65_535, oid: author }])
      expect(total?.[0]?.counts).toEqual({ post: 20 })
    } finally {
      await stores.close()
    }
    expect((await home(1, viewer)).ids).toEqual(ids)
  })

  test('while Redis is down pages go on, posts are refused, and a follow waits in the journal', async () => {
    const [author, other, viewer] = [newViewer(), newViewer(), newViewer()]
    await outcomes(0, viewer, FOLLOW, [author])
    const first = await publish(0, author, { text: 'a' })
    const secret = await publish(0, author, { text: 'b', audience: [other] })
    await converged()
    await deployment.servers.redis.kill()
    expect(await home(0, viewer)).toEqual({ ids: [first.id], degraded: expect.arrayContaining(['hotStore']) })
    expect((await home(1, viewer)).ids).not.toContain(secret.id)
    expect((await publish(0, author, { text: 'c' })).code).toBe('HOT_STORE_UNAVAILABLE')
    expect(await outcomes(0, viewer, FOLLOW, [other])).toEqual(['CHANGED'])
    await deployment.servers.redis.start()
    await converged()
    const again = await publish(1, other, { text: 'd' })
    expect((await home(1, viewer)).ids).toEqual([again.id, first.id])
    expect((await home(0, viewer)).ids).toEqual([again.id, first.id])
    expect((await home(0, other)).ids).toEqual([secret.id])
  })

  test('while MariaDB is down posts are published and read, and are stored afterwards', async () => {
    const [author, viewer] = [newViewer(), newViewer()]
    await outcomes(0, viewer, FOLLOW, [author])
    await deployment.servers.mariadb.kill()
    const { id, code } = await publish(0, author, { text: 'a' })
    expect(code).toBeUndefined()
    expect((await home(1, viewer)).ids).toEqual([id])
    await deployment.servers.mariadb.start()
    await converged()
    expect(await home(1, viewer)).toEqual({ ids: [id], degraded: [] })
  })

  test('while Kafka is down a post is published, and is stored without it', async () => {
    const [author, viewer] = [newViewer(), newViewer()]
    await outcomes(0, viewer, FOLLOW, [author])
    await deployment.servers.kafka.kill()
    const { id } = await publish(0, author, { text: 'a' })
    expect((await home(1, viewer)).ids).toEqual([id])
    await deployment.servers.kafka.start()
    await converged()
    const stores = await deployment.openStores()
    try {
      expect(await stores.feed?.records.getPostMany([id])).toMatchObject([{ text: 'a', author }])
    } finally {
      await stores.close()
    }
  })
})
