/**
 * Live layouts of the cache, set as an operator does it (docs/operating/cache.md), on a deployment with Memcached nodes. Two gateways serve
 * pages while the layout changes. The nodes themselves count the keys that they looked up.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CacheLayout } from '../../config/cache.ts'
import { liveSetting } from '../../config/live/live.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { runCommand, type Ended } from '../../harness/deployment/command.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { memcachedIsHere, startMemcachedNodes, type MemcachedNode, type MemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import { freePorts } from '../../harness/deployment/ports.ts'
import { ask } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'
import { openRedisValue } from '../../stores/redis/live-value.ts'
import { DELETE, HOME, makeFeedClient, newViewer, USER_POSTS, type Variables } from '../support/feed-client.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb'), (await memcachedIsHere()) || undefined]
const NODES = 10
const AUTHORS = 300
const PAGE = 20
const PAGE_MAX = 100
const GATEWAYS = 2
const CHANGES = 100

describe.skipIf(servers.includes(undefined))('a live layout of the cache on a deployment', () => {
  let memcached: MemcachedNodes
  let deployment: Deployment
  /** All posts of the authors, newest first, and a viewer who follows all of them. */
  let ids: string[]
  let authors: string[]
  let viewer: string

  beforeAll(async () => {
    memcached = await startMemcachedNodes(Array.from({ length: NODES }, () => []))
    deployment = await startDeployment({
      ...{ gateways: GATEWAYS, jobs: 0, feedJobs: 1 },
      settings: { cache: { layout: { main: addresses(0, 1, 2), backup: addresses(3) } } },
    })
    const { published, follower } = makeFeedClient(() => url(0))
    authors = Array.from({ length: AUTHORS }, newViewer)
    const posts = await Promise.all(authors.map((author) => published(author, { text: `of ${author}` })))
    ids = posts.toSorted((one, other) => (BigInt(one) < BigInt(other) ? 1 : -1))
    viewer = await follower(...authors)
  })
  afterAll(async () => {
    await deployment?.remove()
    await memcached?.stop()
  })

  const url = (gateway: number): string => deployment.gateways[gateway]?.url as string
  const node = (at: number): MemcachedNode => memcached.nodes[at] as MemcachedNode
  const addresses = (...places: number[]): string[] => places.map((at) => node(at).address)

  /** Reads a page of posts, newest first. No error, and no store or pool that the answer names as missing. */
  async function pageOf(
    gateway: number,
    reader: string,
    query: string,
    variables: Variables = {},
  ): Promise<{ shown: string[]; end: string }> {
    const answer = await ask(url(gateway), reader, query, variables)
    expect({ ...answer, data: undefined }).toEqual({ data: undefined })
    const { edges, pageInfo } = answer.data.homeFeed ?? answer.data.feedUser.posts
    return { shown: edges.map((edge: { node: { id: string } }) => edge.node.id), end: pageInfo.endCursor }
  }

  async function listOf(gateway: number, reader: string, query: string, variables: Variables = {}): Promise<string[]> {
    return (await pageOf(gateway, reader, query, variables)).shown
  }

  /** Each gateway shows the page so many times. */
  async function readPages(times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      for (let gateway = 0; gateway < GATEWAYS; gateway++) expect(await listOf(gateway, viewer, HOME)).toEqual(ids.slice(0, PAGE))
    }
  }

  /** Each gateway shows all posts. */
  async function readFeed(): Promise<void> {
    for (let gateway = 0; gateway < GATEWAYS; gateway++) {
      let after: string | undefined
      for (let at = 0; at < AUTHORS; at += PAGE_MAX) {
        const { shown, end } = await pageOf(gateway, viewer, HOME, { first: PAGE_MAX, after })
        expect(shown).toEqual(ids.slice(at, at + PAGE_MAX))
        after = end
      }
    }
  }

  /** The keys that each node looked up during the work. */
  async function lookupsDuring(work: () => Promise<unknown>): Promise<{ hits: number; misses: number; all: number }[]> {
    const before = await Promise.all(memcached.nodes.map((each) => each.lookups()))
    await work()
    const after = await Promise.all(memcached.nodes.map((each) => each.lookups()))
    return after.map(({ hits, misses }, at) => {
      const grown = { hits: hits - (before[at]?.hits ?? 0), misses: misses - (before[at]?.misses ?? 0) }
      return { ...grown, all: grown.hits + grown.misses }
    })
  }

  /** The nodes that a gateway uses, by address, and whether they count as down. */
  async function nodesOf(gateway: number): Promise<Map<string, boolean>> {
    const text = await (await fetch(deployment.gateways[gateway]?.metricsUrl as string)).text()
    const lines = text.matchAll(/^tidemark_feed_cache_node_down\{.*node="([^"]+)"\} ([01])$/gm)
    return new Map(Array.from(lines, ([, address, isDown]) => [address as string, isDown === '1']))
  }

  async function untilUsed(layout: CacheLayout): Promise<void> {
    const wanted = [layout.main, layout.backup ?? [], ...layout.l1].flat().toSorted()
    for (let gateway = 0; gateway < GATEWAYS; gateway++) {
      await until(`gateway ${gateway} uses ${wanted.join()}`, async () => {
        const used = await nodesOf(gateway)
        return JSON.stringify([...used.keys()].toSorted()) === JSON.stringify(wanted)
      })
    }
  }

  const run = (...args: string[]): Promise<Ended> =>
    runCommand(deployment.servers.folder, ['config', ...args, '--config', join('gateway-1', 'tidemark.yaml')])
  const currentVersion = async (): Promise<string> => /version (\d+)/.exec((await run('get')).out)?.[1] as string

  function write(file: string, layout: unknown): string {
    writeFileSync(join(deployment.servers.folder, file), JSON.stringify({ cache: { layout } }))
    return file
  }

  /** As an operator does it: `get`, edit the file, `set`. */
  async function set(layout: CacheLayout): Promise<void> {
    const file = write('layout.json', layout)
    expect(await run('set', file, '--expect', await currentVersion())).toMatchObject({ status: 0, error: '' })
    await untilUsed(layout)
  }

  test('groups of L1 that are added take the reads from Main, and a removed group gets none', async () => {
    const [main, backup] = [addresses(0, 1, 2), addresses(3)]
    expect((await run('get')).out).toBe('# version 0\n{}\n')
    await readPages(2)
    const alone = await lookupsDuring(() => readPages(4))
    expect(alone.slice(0, 3).every(({ all, misses }) => all > 0 && misses === 0)).toBe(true)
    expect(alone.slice(4).every(({ all }) => all === 0)).toBe(true)

    await set({ main, backup, l1: [addresses(4), addresses(5)] })
    expect((await run('get')).out).toContain(node(5).address)
    // A read goes to a random group: after these, both groups have all values.
    await readPages(10)
    const grouped = await lookupsDuring(() => readPages(10))
    expect(grouped.slice(0, 4).every(({ all }) => all === 0)).toBe(true)
    expect(grouped.slice(4, 6).every(({ hits }) => hits > AUTHORS)).toBe(true)

    await set({ main, backup, l1: [addresses(5)] })
    const removed = await lookupsDuring(() => readPages(4))
    expect(removed[4]?.all).toBe(0)
    expect(removed[5]?.hits).toBeGreaterThan(AUTHORS)
  })

  test('a node that is added to Main takes its share, and no key of another node moves', async () => {
    await set({ main: addresses(0), l1: [] })
    await readFeed()
    await readFeed()
    for (let count = 2; count <= 4; count++) {
      const added = count - 1
      const main = addresses(...Array.from({ length: count }, (_, at) => at))
      // Values of earlier layouts would be found on the node.
      await node(added).kill()
      await node(added).start()
      await set({ main, l1: [] })
      const lookups = await lookupsDuring(readFeed)
      const all = lookups.reduce((sum, each) => sum + each.all, 0)
      // With few keys, chance decides the shares of the nodes.
      expect(all).toBeGreaterThan(GATEWAYS * AUTHORS)
      const share = (lookups[added]?.all ?? 0) / all
      expect(Math.abs(share - 1 / count)).toBeLessThan(0.15)
      expect(lookups.map(({ misses }) => misses > 0)).toEqual(lookups.map((_, at) => at === added))
    }
  })

  test('a node that another one replaces gets no more reads, and can be shut off', async () => {
    await set({ main: addresses(0, 1, 6), backup: addresses(3), l1: [] })
    await readPages(2)
    await set({ main: addresses(0, 1, 7), backup: addresses(3), l1: [] })
    const lookups = await lookupsDuring(() => readPages(2))
    expect([lookups[6]?.all, (lookups[7]?.hits ?? 0) > 0]).toEqual([0, true])
    await node(6).kill()
    await readPages(2)
    for (let gateway = 0; gateway < GATEWAYS; gateway++)
      expect([...(await nodesOf(gateway)).values()]).toEqual([false, false, false, false])
    await node(6).start()
  })

  test.each([
    ['without Main', { backup: ['cache1:11211'] }, /^CONFIG_INVALID: .*cache\.layout\.main: it is missing/s],
    ['with an empty Main', { main: [] }, /^CONFIG_INVALID: .*cache\.layout\.main: a pool needs a node/s],
    ['with a node that is no address', { main: ['cache1'] }, /^CONFIG_INVALID: .*"cache1" is not possible: write host:port/s],
    ['with an unknown pool', { main: ['cache1:11211'], l2: [] }, /^CONFIG_INVALID: .*cache\.layout\.l2 is not a setting/s],
    ['with a node in two pools', { main: ['a:1'], backup: ['a:1'] }, /^CONFIG_INVALID: .*a:1 is in the layout twice/s],
  ])('a layout %s is refused, and processes keep theirs', async (_, layout, sentence) => {
    const before = await run('get')
    const version = /version (\d+)/.exec(before.out)?.[1] as string
    const refused = await run('set', write('refused.json', layout), '--expect', version)
    expect(refused).toMatchObject({ status: 1, out: '', error: expect.stringMatching(sentence) as string })
    expect((await run('get')).out).toBe(before.out)
    await readPages(1)
  })

  test('of two changes at once one is refused with LIVE_VALUE_CHANGED, and processes follow the other', async () => {
    const version = await currentVersion()
    const layouts = [8, 9].map((at) => ({ main: addresses(0, 1), l1: [addresses(at)] }))
    const ends = await Promise.all(layouts.map((layout, at) => run('set', write(`${at}.json`, layout), '--expect', version)))
    const winner = ends.findIndex(({ status }) => status === 0)
    expect(ends[1 - winner]).toMatchObject({ status: 1, error: expect.stringMatching(/^LIVE_VALUE_CHANGED: /) as string })
    await untilUsed(layouts[winner] as CacheLayout)
    await readPages(2)
  })

  test('nodes that nobody runs count as down, and pages stay right and whole', async () => {
    const [port] = await freePorts(1)
    const strange = [`127.0.0.1:${port}`, 'nowhere.invalid:11211']
    await set({ main: [...addresses(0), ...strange], backup: addresses(3), l1: [] })
    await readPages(3)
    for (let gateway = 0; gateway < GATEWAYS; gateway++) {
      await until('both count as down', async () => {
        const nodes = await nodesOf(gateway)
        return strange.every((address) => nodes.get(address) === true)
      })
    }
    await readPages(3)
    await set({ main: addresses(0, 1), backup: addresses(3), l1: [] })
  })

  test('100 changes under load: no error, and each page has the writes that were acknowledged before it', async () => {
    const random = seededRandom(16)
    const values: unknown = JSON.parse(readFileSync(join(deployment.servers.folder, 'gateway-1', 'tidemark.yaml'), 'utf8'))
    const setting = liveSetting([{ name: 'tidemark.yaml', values }], () => deployment.config)
    const source = openRedisValue(setting, deployment.config.stores.redis as { urls: string[] })
    let [isOver, pages] = [false, 0]
    const anyGateway = (): number => randomBelow(random, GATEWAYS)

    /** An author who publishes and deletes, and a follower. Both read at any gateway. */
    async function lane(): Promise<void> {
      const own: string[] = []
      const author = newViewer()
      const { data, published, follower } = makeFeedClient(() => url(anyGateway()))
      const reader = await follower(author, ...authors)
      while (!isOver || pages <= CHANGES) {
        if (own.length > 5 && random() < 0.5) await data(author, DELETE, { id: own.splice(randomBelow(random, own.length), 1)[0] })
        else own.unshift(await published(author, { text: 'under load' }))
        expect(await listOf(anyGateway(), author, USER_POSTS, { id: author })).toEqual(own.slice(0, PAGE))
        expect(await listOf(anyGateway(), reader, HOME)).toEqual([...own, ...ids].slice(0, PAGE))
        pages += 2
      }
    }

    const lanes = Promise.allSettled(Array.from({ length: 4 }, lane))
    let { version } = (await source.read()) ?? { version: 0 }
    const lookups = await lookupsDuring(async () => {
      for (let change = 0; change < CHANGES; change++) {
        const places = Array.from({ length: NODES }, (_, at) => at).toSorted(() => random() - 0.5)
        const mains = 1 + randomBelow(random, 4)
        const layout = {
          main: addresses(...places.slice(0, mains)).map((address) => `${address}*${1 + randomBelow(random, 3)}`),
          ...(random() < 0.7 ? { backup: addresses(...places.slice(mains, mains + 2)) } : {}),
          l1: places.slice(mains + 2, mains + 2 + randomBelow(random, 4)).map((at) => addresses(at)),
        }
        ;({ version } = await source.change({ cache: { layout } }, version))
        await sleep(systemClock, 50 + 100 * random())
      }
    }).finally(() => (isOver = true))
    expect((await lanes).filter(({ status }) => status === 'rejected')).toEqual([])
    source.close()
    expect(pages).toBeGreaterThan(CHANGES)
    expect(lookups.every(({ all }) => all > 0)).toBe(true)
  })
})
