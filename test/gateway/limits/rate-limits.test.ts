import { Redis } from 'ioredis'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { systemClock } from '../../../core/clock.ts'
import { makeAddressOf } from '../../../gateway/request/addresses.ts'
import type { Caller } from '../../../gateway/request/caller.ts'
import { makeIdentify } from '../../../gateway/identity/identify.ts'
import { makeRateLimits, type RateLimitOptions } from '../../../gateway/limits/rate-limits.ts'
import type { CountingStore } from '../../../gateway/limits/redis-counter.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeTcpProxy } from '../../../harness/faults/tcp-proxy.ts'

const warnings: string[] = []
const log = { warn: (_fields: object, message: string) => void warnings.push(message) }
afterEach(() => void warnings.splice(0))

const NOBODY: Caller = { viewer: undefined, client: undefined, address: undefined }
const viewer = (id: string, actor?: string): Caller => ({
  ...NOBODY,
  viewer: { id, scopes: [], ...(actor === undefined ? {} : { actor }) },
})

function limits(options: RateLimitOptions, store?: CountingStore) {
  const made = makeRateLimits(options, store, log)
  if (made === undefined) throw new Error('nothing is limited')
  return made
}

describe('rate limits', () => {
  it('are absent if none is configured', () => {
    expect(makeRateLimits({}, undefined, log)).toBeUndefined()
    expect(makeRateLimits({ abuse: { refusals: 1, perSeconds: 1, blockSeconds: 1 } }, undefined, log)).toBeUndefined()
  })

  it('count the cost of operations per viewer', async () => {
    const { spend, waiting } = limits({ viewer: { points: 10, perSeconds: 60 } })
    expect(await spend(viewer('1'), 10)).toBeUndefined()
    expect(await spend(viewer('1'), 1)).toMatchObject({ who: 'viewer', blocked: false })
    expect(waiting(viewer('1'))).toMatchObject({ who: 'viewer' })
    expect(await spend(viewer('2'), 10)).toBeUndefined()
    expect(await spend(NOBODY, 100)).toBeUndefined()
    expect(waiting(NOBODY)).toBeUndefined()
  })

  it('count a service that acts for viewers as itself, so it cannot use up their limits', async () => {
    const { spend } = limits({ viewer: { points: 10, perSeconds: 60 } })
    expect(await spend(viewer('1', 'importer'), 10)).toBeUndefined()
    expect(await spend(viewer('2', 'importer'), 1)).toMatchObject({ who: 'viewer' })
    expect(await spend(viewer('1'), 10)).toBeUndefined()
  })

  it('count a /64 of IPv6 as one address, and a client program over all its users', async () => {
    const { spend } = limits({ address: { points: 2, perSeconds: 60 }, client: { points: 3, perSeconds: 60 } })
    const from = (address: string, client: string): Caller => ({ ...NOBODY, address, client })
    expect(await spend(from('2001:db8::1', 'a'), 2)).toBeUndefined()
    expect(await spend(from('2001:db8::2', 'b'), 1)).toMatchObject({ who: 'address' })
    expect(await spend(from('203.0.113.1', 'a'), 2)).toMatchObject({ who: 'client' })
  })

  it('share one count for client names after the first thousand, so invented names gain nothing and fill no memory', async () => {
    const { spend } = limits({ client: { points: 5, perSeconds: 60 } })
    for (let name = 0; name < 1_000; name += 1) await spend({ ...NOBODY, client: `c${name}` }, 1)
    expect(await spend({ ...NOBODY, client: 'new' }, 5)).toBeUndefined()
    expect(await spend({ ...NOBODY, client: 'newer' }, 1)).toMatchObject({ who: 'client' })
  })

  it('spend nothing in other windows if one window refuses', async () => {
    const { spend } = limits({
      viewer: { points: 100, perSeconds: 60 },
      client: { points: 10, perSeconds: 60 },
      address: { points: 100, perSeconds: 60 },
    })
    const by = (id: string, client: string): Caller => ({ ...viewer(id), client, address: '203.0.113.1' })
    expect(await spend(by('1', 'web'), 10)).toBeUndefined()
    for (let round = 0; round < 30; round += 1) expect(await spend(by('2', 'web'), 5)).toMatchObject({ who: 'client' })
    expect(await spend(by('2', 'ios'), 10)).toBeUndefined()
    expect(await spend({ ...viewer('2'), address: '203.0.113.2' }, 90)).toBeUndefined()
    expect(await spend({ ...viewer('2'), address: '203.0.113.2' }, 1)).toMatchObject({ who: 'viewer' })
    expect(await spend({ ...NOBODY, address: '203.0.113.1' }, 80)).toBeUndefined()
    expect(await spend({ ...NOBODY, address: '203.0.113.1' }, 1)).toMatchObject({ who: 'address' })
  })

  it('give the cost of a refusal back once, not twice', async () => {
    const { spend } = limits({ viewer: { points: 10, perSeconds: 60 }, client: { points: 5, perSeconds: 60 } })
    const by: Caller = { ...viewer('1'), client: 'web' }
    expect(await spend(by, 5)).toBeUndefined()
    for (let round = 0; round < 3; round += 1) expect(await spend(by, 6)).toBeDefined()
    expect(await spend(viewer('1'), 6)).toMatchObject({ who: 'viewer' })
    expect(await spend(viewer('1'), 5)).toBeUndefined()
  })

  it('block a caller that continues after refusals for a time, and no other caller', async () => {
    const { spend, waiting } = limits({
      viewer: { points: 1, perSeconds: 1 },
      abuse: { refusals: 5, perSeconds: 60, blockSeconds: 600 },
    })
    expect(await spend(viewer('1'), 1)).toBeUndefined()
    await spend(viewer('1'), 1)
    for (let attempt = 0; attempt < 5; attempt += 1) waiting(viewer('1'))
    await expect.poll(() => waiting(viewer('1'))).toMatchObject({ blocked: true })
    expect(waiting(viewer('1'))?.retryAfterMs).toBeGreaterThan(500_000)
    expect(warnings).toEqual([expect.stringContaining('blocked for a time')])
    expect(await spend(viewer('2'), 1)).toBeUndefined()
  })

  it('never block the name of a client, because others use it too', async () => {
    const { spend, waiting } = limits({
      client: { points: 1, perSeconds: 60 },
      abuse: { refusals: 3, perSeconds: 60, blockSeconds: 600 },
    })
    const web: Caller = { ...NOBODY, client: 'web' }
    await spend(web, 1)
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await spend(web, 1)).toMatchObject({ who: 'client', blocked: false })
    for (let attempt = 0; attempt < 10; attempt += 1) expect(waiting(web)).toMatchObject({ who: 'client', blocked: false })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(waiting(web)).toMatchObject({ blocked: false })
    expect((await spend(web, 1))?.retryAfterMs).toBeLessThan(120_001)
    expect(warnings).toEqual([])
  })
})

describe('the doors', () => {
  const servers: TestServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })
  async function open(options: RateLimitOptions, trustProxy = 0): Promise<TestServer> {
    const server = await startServer({ more: { limits: limits(options), addressOf: makeAddressOf(trustProxy) } })
    servers.push(server)
    return server
  }
  const as = (id: string) => ({ 'x-viewer-id': id })

  it('refuse a waiting caller before its body is parsed', async () => {
    const { url } = await open({ viewer: { points: 1, perSeconds: 60 }, anonymous: { points: 1, perSeconds: 60 } })
    for (const headers of [as('1'), {}]) {
      expect((await post(url, { query: '{ hello }' }, headers)).status).toBe(200)
      expect((await post(url, { query: '{ hello }' }, headers)).status).toBe(429)
      for (const type of ['application/json', 'application/json; charset=utf-8']) {
        const refused = await fetch(`${url}/graphql`, {
          method: 'POST',
          headers: { ...headers, 'content-type': type },
          body: '{"query": broken',
        })
        expect([headers, type, refused.status]).toEqual([headers, type, 429])
      }
    }
  })

  it('answer 429 over POST and GET, in either media type, with retry-after and retryAfterMs', async () => {
    const { url } = await open({ viewer: { points: 2, perSeconds: 60 } })
    for (let round = 0; round < 2; round += 1) expect((await post(url, { query: '{ hello }' }, as('1'))).status).toBe(200)
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const refused = await post(url, { query: '{ hello }' }, { ...as('1'), accept })
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(refused.json.errors).toEqual([
        expect.objectContaining({ extensions: { code: 'RATE_LIMITED', retryable: true, retryAfterMs: expect.any(Number) } }),
      ])
      expect(refused.json.data).toBeUndefined()
    }
    const get = await fetch(`${url}/graphql?query={hello}`, { headers: { ...as('1'), accept: 'application/json' } })
    expect(get.status).toBe(429)
    expect((await post(url, { query: '{ hello }' }, as('2'))).status).toBe(200)
  })

  it('refuse an event stream before it is opened', async () => {
    const { url } = await open({ viewer: { points: 1, perSeconds: 60 } })
    const stream = () =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...as('1') },
        body: JSON.stringify({ query: 'subscription { ticks(count: 1) }' }),
      })
    expect(await (await stream()).text()).toContain('"ticks":1')
    for (let round = 0; round < 2; round += 1) {
      const refused = await stream()
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.any(String)])
      await refused.text()
    }
  })

  it('refuse operations on an open socket, which stays open', async () => {
    const { url } = await open({ viewer: { points: 2, perSeconds: 60 } })
    const client = createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { viewerId: '1' },
      lazy: false,
      retryAttempts: 0,
    })
    const one = async (query: string) => (await client.iterate({ query }).next()).value as unknown
    await one('{ hello }')
    await one('mutation { report(oid: "1") }')
    for (const query of ['{ hello }', 'subscription { ticks(count: 1) }'])
      await expect(one(query)).rejects.toEqual([expect.objectContaining({ extensions: expect.objectContaining({ code: 'RATE_LIMITED' }) })])
    expect((await post(url, { query: '{ hello }' }, as('2'))).status).toBe(200)
    await client.dispose()
  })

  it('count by the address that trusted proxies report, never by an address that the client sends', async () => {
    const direct = await open({ address: { points: 2, perSeconds: 60 } })
    const statuses = []
    for (const claim of ['1.1.1.1', '2.2.2.2', '3.3.3.3'])
      statuses.push((await post(direct.url, { query: '{ hello }' }, { 'x-forwarded-for': claim })).status)
    expect(statuses).toEqual([200, 200, 429])
    const behind = await open({ address: { points: 1, perSeconds: 60 } }, 1)
    const ask = async (seen: string) => (await post(behind.url, { query: '{ hello }' }, { 'x-forwarded-for': `9.9.9.9, ${seen}` })).status
    expect([await ask('203.0.113.1'), await ask('203.0.113.2'), await ask('203.0.113.1')]).toEqual([200, 200, 429])
  })

  it('count refused tokens by address, and verify no more of them once the address is blocked', async () => {
    const identify = makeIdentify({ secret: 'a secret of at least thirty-two bytes' }, 'production')
    let looked = 0
    const server = await startServer({
      mode: 'production',
      more: {
        limits: limits({ address: { points: 1_000, perSeconds: 60 }, abuse: { refusals: 5, perSeconds: 60, blockSeconds: 600 } }),
        identify: (credentials) => ((looked += 1), identify(credentials)),
      },
    })
    servers.push(server)
    const bad = { authorization: 'Bearer a.b.c' }
    const statuses: number[] = []
    for (let round = 0; round < 8; round += 1) statuses.push((await post(server.url, { query: '{ hello }' }, bad)).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429, 429])
    expect(looked).toBe(6)
    const stream = await fetch(`${server.url}/graphql?query={hello}`, { headers: { ...bad, accept: 'text/event-stream' } })
    expect([stream.status, stream.headers.get('retry-after')]).toEqual([429, expect.any(String)])
    await stream.text()
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws'])
    socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: bad })))
    const closed = await new Promise((resolve) => socket.once('close', (code, reason) => resolve([code, String(reason)])))
    expect(closed).toEqual([4403, expect.stringMatching(/^RATE_LIMITED: too many refused requests: this address is blocked/)])
    expect(looked).toBe(6)
  })

  it('count each refused token as a point of its address', async () => {
    const { url } = await open({ address: { points: 3, perSeconds: 60 } })
    const bad = { authorization: 'Bearer a.b.c' }
    for (let round = 0; round < 3; round += 1) expect((await post(url, { query: '{ hello }' }, bad)).status).toBe(401)
    expect((await post(url, { query: '{ hello }' })).status).toBe(429)
  })

  it('do not parse bodies of a waiting caller, and charge for malformed ones', async () => {
    const server = await open({ viewer: { points: 3, perSeconds: 60 } })
    for (let round = 0; round < 3; round += 1) await post(server.url, { query: `{ rubbish${round} }` }, as('1'))
    await expect.poll(async () => (await post(server.url, { query: '{ hello }' }, as('1'))).status).toBe(429)
    const { prepared } = server.engine.calls
    await post(server.url, { query: '{ hello }' }, as('1'))
    expect(server.engine.calls.prepared).toBe(prepared)
  })
})

const redisUrl = await service('redis')

describe.skipIf(redisUrl === undefined)('limits in Redis', () => {
  const { port: redisPort } = new URL(redisUrl ?? 'redis://localhost:1')
  const clients: Redis[] = []
  const prefix = `tm-test-${process.pid}-${Date.now()}`
  const connect = (port = Number(redisPort), commandTimeout = 5_000) => {
    const client = new Redis({
      port,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout,
      retryStrategy: () => 25,
      lazyConnect: true,
    })
    client.on('error', () => {})
    clients.push(client)
    return client
  }
  afterAll(async () => {
    const cleaner = connect()
    await cleaner.connect()
    for (const key of await cleaner.keys(`${prefix}*`)) await cleaner.del(key)
    for (const client of clients) client.disconnect()
  })

  it('are shared by processes, with their blocks', async () => {
    const options = { viewer: { points: 10, perSeconds: 60 }, abuse: { refusals: 3, perSeconds: 60, blockSeconds: 600 } }
    const [one, two] = [connect(), connect()]
    await Promise.all([one.connect(), two.connect()])
    const [here, there] = [limits(options, { client: one, prefix }), limits(options, { client: two, prefix })]
    expect(await here.spend(viewer('1'), 6)).toBeUndefined()
    expect(await there.spend(viewer('1'), 4)).toBeUndefined()
    expect(await there.spend(viewer('1'), 1)).toMatchObject({ blocked: false })
    for (let attempt = 0; attempt < 5; attempt += 1) there.waiting(viewer('1'))
    await expect.poll(() => there.waiting(viewer('1'))).toMatchObject({ blocked: true })
    expect(await here.spend(viewer('1'), 1)).toMatchObject({ blocked: true })
  })

  it('are counted by the process itself while Redis is down or silent, in time, and together again afterwards', async () => {
    const proxy = await makeTcpProxy(Number(redisPort))
    const client = connect(proxy.port, 250)
    await client.connect()
    const { spend } = limits({ viewer: { points: 3, perSeconds: 60 } }, { client, prefix })
    expect(await spend(viewer('down'), 3)).toBeUndefined()
    for (const kind of ['broken', 'silent'] as const) {
      proxy.cut(kind)
      const startedAt = systemClock.now()
      const who = viewer(kind)
      const outcomes = []
      for (let round = 0; round < 4; round += 1) outcomes.push((await spend(who, 1)) === undefined)
      expect(outcomes).toEqual([true, true, true, false])
      expect(systemClock.now() - startedAt).toBeLessThan(4_000)
      proxy.mend()
      await expect.poll(() => client.status).toBe('ready')
    }
    expect(await spend(viewer('down'), 1)).toMatchObject({ who: 'viewer' })
    expect(warnings).toEqual([])
    client.disconnect()
    await proxy.close()
  })
})
