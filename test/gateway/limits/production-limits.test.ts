/** The default rate limits of production: a normal site stays below them, and a flood does not. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SignJWT } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { makeAddressOf } from '../../../gateway/request/addresses.ts'
import { NOBODY, atAddress, silent, stepped, viewer } from './callers.ts'
import { limitsInForce } from '../../../gateway/limits/limits-in-force.ts'
import { makeRateLimits, type RateLimitOptions } from '../../../gateway/limits/rate-limits.ts'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'

const SECRET = 'a secret of at least thirty-two bytes'

function inForce(limits: Record<string, unknown> = {}, mode = 'production'): RateLimitOptions {
  return limitsInForce(makeConfig([{ name: 'test', values: { server: { mode }, auth: { secret: SECRET }, limits } }]))
}

function limiter(options = inForce(), clock = stepped()) {
  const limits = makeRateLimits(options, undefined, silent, clock)
  if (limits === undefined) throw new Error('nothing is limited')
  return { ...limits, clock }
}

describe('the limits in force', () => {
  it('are none in development', () => {
    expect(makeRateLimits(inForce({}, 'development'), undefined, silent)).toBeUndefined()
  })

  it('are counted by each process in production, unless they are configured', () => {
    expect(inForce()).toMatchObject({ viewer: { points: 30_000 }, anonymous: { points: 30_000 }, service: 'none', address: undefined })
    expect(inForce().perProcess).toEqual(['viewer', 'anonymous', 'abuse'])
    expect(inForce({ viewer: { points: 5, perSeconds: 1 } }).perProcess).toEqual(['anonymous', 'abuse'])
  })

  it('are none where the configuration says "none"', () => {
    const none = { viewer: 'none', anonymous: 'none', abuse: 'none' }
    expect(makeRateLimits(inForce(none), undefined, silent)).toBeUndefined()
  })

  it('count services as viewers if only viewers have a configured rate, and addresses by their configured rate', () => {
    expect(inForce({ viewer: { points: 5, perSeconds: 1 } }).service).toBeUndefined()
    expect(inForce({ address: { points: 5, perSeconds: 1 } }).anonymous).toBeUndefined()
  })
})

describe('a normal site is not refused', () => {
  it('with an office of 500 viewers behind one address, each with a page every five seconds', () => {
    const { spend, clock } = limiter()
    for (let second = 0; second < 60; second += 1) {
      for (let person = second % 5; person < 500; person += 5)
        expect(spend({ ...viewer(`v${person}`), address: '203.0.113.9' }, 151)).toBeUndefined()
      clock.pass(1_000)
    }
  })

  it('with a player that reports every 15 s in ten tabs, and uploads 2,000 reports after a flight', () => {
    const { spend, clock } = limiter()
    for (let batch = 0; batch < 4; batch += 1) expect(spend(viewer('1'), 5_510)).toBeUndefined()
    for (let second = 0; second < 60; second += 15) {
      for (let tab = 0; tab < 10; tab += 1) expect(spend(viewer('1'), 11)).toBeUndefined()
      clock.pass(15_000)
    }
  })

  it('with a recommender that asks about 10,000 candidates 200 times a second', () => {
    const { spend } = limiter()
    const recommender = viewer('recommender', ['existence:bulk', 'viewer:any'])
    for (let call = 0; call < 200; call += 1) expect(spend(recommender, 1_001)).toBeUndefined()
    for (let call = 0; call < 200; call += 1) expect(spend(viewer(`v${call % 3}`, ['viewer:any'], 'recommender'), 1_001)).toBeUndefined()
  })

  it.each(['127.0.0.1', '10.1.2.3', '172.20.0.1', '192.168.1.1', 'fd00::1', '::1'])(
    'with a front end, or an unconfigured proxy, at %s',
    (address) => {
      const { spend } = limiter()
      for (let page = 0; page < 2_000; page += 1) expect(spend(atAddress(address), 151)).toBeUndefined()
    },
  )

  it('with 40 pages a second of a mobile carrier without tokens behind one address', () => {
    const { spend, clock } = limiter()
    for (let tenth = 0; tenth < 600; tenth += 1) {
      for (let page = 0; page < 4; page += 1) expect(spend(atAddress('198.51.100.7'), 51)).toBeUndefined()
      clock.pass(100)
    }
  })
})

describe('a flood is refused', () => {
  it('of one viewer, while other viewers at its address are served', () => {
    const { spend, waiting } = limiter()
    const attacker = { ...viewer('attacker'), address: '203.0.113.9' }
    for (let call = 0; call < 3; call += 1) expect(spend(attacker, 10_000)).toBeUndefined()
    expect(spend(attacker, 1)).toMatchObject({ who: 'viewer' })
    expect(waiting({ ...viewer('1'), address: '203.0.113.9' })).toBeUndefined()
    expect(spend({ ...viewer('1'), address: '203.0.113.9' }, 151)).toBeUndefined()
  })

  it('of one address without a token, and of other addresses of its /64, and not of its neighbours', () => {
    const { spend } = limiter()
    for (let call = 0; call < 3; call += 1) expect(spend(atAddress(`2001:db8:0:1::${call}`), 10_000)).toBeUndefined()
    expect(spend(atAddress('2001:db8:0:1:ffff::9'), 1)).toMatchObject({ who: 'anonymous address' })
    expect(spend(atAddress('2001:db8:0:2::1'), 1)).toBeUndefined()
  })

  it('of one /48 that uses all of its 65,536 /64s, while its viewers and neighbours are served', () => {
    const { spend, waiting } = limiter()
    let spent = 0
    for (let network = 0; network < 2_000; network += 1)
      if (spend(atAddress(`2001:db8:7:${network.toString(16)}::1`), 1_000) === undefined) spent += 1_000
    expect(spent).toBe(4 * 30_000)
    expect(waiting(atAddress('2001:db8:7:ffff::1'))).toMatchObject({ blocked: false })
    expect(spend(atAddress('2001:db8:8:1::1'), 1_000)).toBeUndefined()
    expect(spend({ ...viewer('1'), address: '2001:db8:7:ffff::1' }, 1_000)).toBeUndefined()
  })

  it('and blocked for a minute after 1,000 refusals in a minute', () => {
    const { spend, waiting, clock } = limiter()
    const flooding = atAddress('203.0.113.9')
    void spend(flooding, 30_000)
    for (let call = 0; call < 1_001; call += 1)
      expect(waiting(flooding) ?? spend(flooding, 10)).toMatchObject({ retryAfterMs: expect.any(Number) })
    expect(waiting(flooding)).toMatchObject({ blocked: true })
    clock.pass(59_000)
    expect(waiting(flooding)).toMatchObject({ blocked: true })
    clock.pass(2_000)
    expect(waiting(flooding)).toBeUndefined()
    expect(spend(flooding, 10)).toBeUndefined()
  })
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

it('200,000 addresses and as many viewers leave bounded memory in use', () => {
  const { spend, refuse } = limiter()
  collect()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 200_000; n += 1) {
    const address = `2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::1`
    void spend(atAddress(address), 1)
    if (n % 4 === 0) refuse(atAddress(address))
    void spend(viewer(`a viewer with a rather long name ${n}`), 1)
  }
  collect()
  const kept = (process.memoryUsage().heapUsed - before) / 1_048_576
  expect(spend(viewer('still counted'), 1)).toBeUndefined()
  console.log(`memory kept of 200,000 addresses and viewers: ${kept.toFixed(1)} MB`)
  expect(kept).toBeLessThan(32)
})

it('spending takes microseconds and makes no promise', () => {
  const { spend } = limiter()
  const callers = Array.from({ length: 1_000 }, (_, n) => ({ ...viewer(`v${n}`), address: '203.0.113.9' }))
  const begun = performance.now()
  for (let n = 0; n < 200_000; n += 1) void spend(callers[n % 1_000] ?? NOBODY, 0.001)
  const micros = (performance.now() - begun) / 200
  console.log(`spending at one place: ${micros.toFixed(2)} µs`)
  expect(micros).toBeLessThan(20)
})

describe('the doors, in production with default limits', () => {
  const servers: TestServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })
  const token = (id: string) =>
    new SignJWT({ sub: id }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(new TextEncoder().encode(SECRET))

  async function open(): Promise<(headers?: Record<string, string>) => ReturnType<typeof post>> {
    const limits = makeRateLimits(
      { ...inForce(), viewer: { points: 5, perSeconds: 60 }, anonymous: { points: 5, perSeconds: 60 } },
      undefined,
      silent,
    )
    const server = await startServer({ mode: 'production', auth: { secret: SECRET }, more: { limits, addressOf: makeAddressOf(1) } })
    servers.push(server)
    return (headers = {}) => post(server.url, { query: '{ hello }' }, { 'x-forwarded-for': '203.0.113.9', ...headers })
  }

  it('answer 429 with Retry-After, code and sentence to an address without a token, and serve tokens from there', async () => {
    const ask = await open()
    for (let call = 0; call < 5; call += 1) expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(refused.json.errors).toMatchObject([
      {
        message: expect.stringMatching(/this anonymous address asked for too much.*or send a token/),
        extensions: { code: 'RATE_LIMITED' },
      },
    ])
    expect((await ask({ authorization: `Bearer ${await token('1')}` })).status).toBe(200)
    expect((await ask({ 'x-forwarded-for': '203.0.113.10' })).status).toBe(200)
  })

  it('count wrong tokens for the address, and continue to serve valid ones from there', async () => {
    const ask = await open()
    const wrong = { authorization: 'Bearer a.b.c' }
    const statuses: number[] = []
    for (let call = 0; call < 7; call += 1) statuses.push((await ask(wrong)).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429])
    expect((await ask({ authorization: `Bearer ${await token('1')}` })).status).toBe(200)
  })
})
