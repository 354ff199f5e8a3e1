import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Registry } from '@prometheus-io/client'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { makeCompression } from '../../../gateway/doors/compression.ts'
import { makeTimeBudget } from '../../../gateway/doors/time-budget.ts'
import { until } from '../../../harness/until.ts'
import { startServer, type TestServer } from '../../support/front-schema.ts'

const servers: TestServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})
async function start(options: Parameters<typeof startServer>[0] = {}): Promise<TestServer> {
  const server = await startServer(options)
  servers.push(server)
  return server
}

type Sent = { path?: string; method?: string; headers?: Record<string, string>; body?: unknown }

/** The answer as it comes over the wire: fetch would decompress it. */
async function send(server: TestServer, { path = '/graphql', method = 'POST', headers = {}, body }: Sent) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const sent = request(server.url + path, { method, headers: { ...type, ...headers } }, (response) => {
      buffer(response).then((bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes }), reject)
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** On a busy machine one compression may use up the time for the next ones. Such a request is sent again. */
async function sendUntilCompressed(server: TestServer, sent: Sent) {
  let answer = await send(server, sent)
  await until('a compressed answer', async () => {
    if (answer.headers['content-encoding'] === undefined) answer = await send(server, sent)
    return answer.headers['content-encoding'] !== undefined
  })
  return answer
}

const DECOMPRESS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}
const NAME = 'a name of some length, '.repeat(100)
const QUERY = 'query ($name: String) { hello(name: $name) }'
const LARGE = { query: QUERY, variables: { name: NAME } }
const SMALL = { query: '{ hello }' }
const search = `?query=${encodeURIComponent(QUERY)}&variables=${encodeURIComponent(JSON.stringify(LARGE.variables))}`
const DATA = { data: { hello: `hello ${NAME}` } }

describe('an answer', () => {
  it.each([
    ['gzip', 'gzip, deflate'],
    ['br', 'gzip, deflate, br'],
    ['zstd', 'gzip, deflate, br, zstd'],
  ])('is compressed by %s for a client that sends %j, on every path', async (encoding, acceptEncoding) => {
    const server = await start()
    const headers = { 'accept-encoding': acceptEncoding }
    for (const sent of [
      { body: LARGE, headers },
      { body: LARGE, headers, path: '/graphql/' },
      { body: LARGE, headers: { ...headers, accept: 'application/graphql-response+json' } },
      { method: 'GET', path: `/graphql${search}`, headers },
    ]) {
      const answer = await sendUntilCompressed(server, sent)
      expect([answer.status, answer.headers['content-encoding'], answer.headers['content-length']]).toEqual([
        200,
        encoding,
        String(answer.bytes.length),
      ])
      expect(answer.headers['vary']).toMatch(/(^|, )accept-encoding$/)
      expect(answer.bytes.length).toBeLessThan(200)
      expect(JSON.parse(String(DECOMPRESS[encoding]?.(answer.bytes)))).toEqual(DATA)
    }
  })

  it('is not compressed for a client that does not ask for it, and says that others may get it compressed', async () => {
    const server = await start()
    for (const headers of [{}, { 'accept-encoding': 'deflate' }, { 'accept-encoding': 'gzip;q=0' }]) {
      const answer = await send(server, { body: LARGE, headers: headers as Record<string, string> })
      expect([answer.headers['content-encoding'], answer.headers['vary']]).toEqual([undefined, 'Origin, accept-encoding'])
      expect(JSON.parse(String(answer.bytes))).toEqual(DATA)
    }
  })

  it('is not compressed below the configured size, nor with "off"', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const answerOf = async (compressFromBytes: number | 'off' | undefined, body: unknown) => {
      const { headers: received } = await send(await start({ compressFromBytes }), { body, headers })
      return [received['content-encoding'], received['vary']]
    }
    const plain = [undefined, 'Origin']
    const compressed = ['gzip', 'Origin, accept-encoding']
    const size = JSON.stringify(DATA).length
    expect(await answerOf(undefined, SMALL)).toEqual(plain)
    expect(await answerOf(size + 1, LARGE)).toEqual(plain)
    expect(await answerOf(size, LARGE)).toEqual(compressed)
    expect(await answerOf('off', LARGE)).toEqual(plain)
  })

  it('with errors keeps its status and its errors', async () => {
    const server = await start()
    const query = `{ ${Array.from({ length: 50 }, (_, i) => `unknown${i}`).join(' ')} }`
    const headers = { 'accept-encoding': 'gzip', accept: 'application/graphql-response+json' }
    const answer = await send(server, { body: { query }, headers })
    const { errors } = JSON.parse(String(gunzipSync(answer.bytes))) as { errors: { extensions: unknown }[] }
    expect([answer.status, answer.headers['content-encoding'], answer.headers['cache-control']]).toEqual([400, 'gzip', 'no-store'])
    expect(errors[0]?.extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
  })

  it('to GET keeps the headers on which a cache depends', async () => {
    const answer = await send(await start(), { method: 'GET', path: `/graphql${search}`, headers: { 'accept-encoding': 'gzip' } })
    expect(answer.headers['vary']).toMatch(/^Origin, accept, authorization, .*, accept-encoding$/)
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  it('to a client that refuses uncompressed answers is compressed, however small', async () => {
    const answer = await send(await start(), { body: SMALL, headers: { 'accept-encoding': 'identity;q=0, gzip' } })
    expect(answer.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(String(gunzipSync(answer.bytes)))).toEqual({ data: { hello: 'hello world' } })
  })

  it.each([
    ['*;q=0', undefined],
    ['identity;q=0, deflate', undefined],
    ['identity;q=0, gzip', 'off'],
  ] as const)(
    'that accept-encoding %s with compression %s refuses in every coding is a 406, and nothing runs',
    async (acceptEncoding, off) => {
      const server = await start({ compressFromBytes: off })
      const before = server.engine.calls.parsed
      const answer = await send(server, {
        body: { query: 'mutation { report(oid: "1") }' },
        headers: { 'accept-encoding': acceptEncoding },
      })
      expect([answer.status, JSON.parse(String(answer.bytes))]).toEqual([
        406,
        { errors: [{ message: expect.stringContaining('accept identity or gzip'), extensions: { code: 'BAD_REQUEST' } }] },
      ])
      expect(server.engine.calls.parsed).toBe(before)
    },
  )
})

describe('other answers', () => {
  it('the schema and the metrics are compressed, and HEAD has the headers of GET', async () => {
    const server = await start({ compressFromBytes: 100 })
    const headers = { 'accept-encoding': 'gzip' }
    for (const path of ['/graphql/schema.graphql', '/metrics']) {
      const got = await sendUntilCompressed(server, { method: 'GET', path, headers })
      expect([path, got.headers['content-encoding'], got.headers['vary']]).toEqual([path, 'gzip', 'Origin, accept-encoding'])
      expect(gunzipSync(got.bytes).length).toBeGreaterThan(got.bytes.length)
    }
    const got = await send(server, { method: 'GET', path: '/graphql/schema.graphql', headers })
    const head = await send(server, { method: 'HEAD', path: '/graphql/schema.graphql', headers })
    expect(head.bytes.length).toBe(0)
    for (const name of ['content-encoding', 'content-length', 'content-type', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, got.headers[name]])
  })

  it('small ones of health and of unknown paths stay as they are', async () => {
    const server = await start()
    for (const path of ['/health/live', '/health/ready', '/nowhere']) {
      const answer = await send(server, { method: 'GET', path, headers: { 'accept-encoding': 'gzip' } })
      expect([path, answer.headers['content-encoding'], answer.headers['vary']]).toEqual([path, undefined, 'Origin'])
    }
  })

  it('GraphiQL is sent in gzip, or as it is to a client that refuses gzip', async () => {
    const server = await start()
    const page = (acceptEncoding: string) =>
      send(server, { method: 'GET', path: '/graphql', headers: { accept: 'text/html', 'accept-encoding': acceptEncoding } })
    const [zipped, plain] = [await page('gzip, br, zstd'), await page('gzip;q=0')]
    expect([zipped.headers['content-encoding'], plain.headers['content-encoding']]).toEqual(['gzip', undefined])
    for (const { headers } of [zipped, plain]) expect(headers['vary']).toBe('Origin, accept, accept-encoding')
    expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true)
  })

  it('event streams and WebSockets are not compressed', async () => {
    const server = await start({ compressFromBytes: 1 })
    const headers = { 'accept-encoding': 'gzip', accept: 'text/event-stream' }
    const stream = await send(server, { body: LARGE, headers })
    expect([stream.headers['content-encoding'], String(stream.bytes)]).toEqual([undefined, expect.stringContaining(NAME)])
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { perMessageDeflate: true })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    expect(socket.extensions).toBe('')
    socket.close()
  })
})

describe('compression', () => {
  const GZIP = { 'accept-encoding': 'gzip' }
  const COMPRESSED_ONLY = { 'accept-encoding': 'identity;q=0, gzip' }
  const answer = { status: 200, contentType: 'text/plain', body: 'a'.repeat(10_000) }

  it('stops while its time is used up, also for a client that refuses uncompressed answers, and goes on later', async () => {
    let at = 0
    const budget = makeTimeBudget({ share: 0.1, burstMs: 10 }, () => at)
    const registry = new Registry()
    const compression = makeCompression(1_024, registry, budget)
    const encodingOf = (headers: typeof GZIP): string | undefined => compression.compress(headers, answer).headers?.['content-encoding']
    for (const headers of [GZIP, COMPRESSED_ONLY]) expect(encodingOf(headers)).toBe('gzip')
    budget.spend(() => (at += 20))
    for (const headers of [GZIP, COMPRESSED_ONLY])
      expect(compression.compress(headers, answer)).toEqual({ ...answer, headers: { vary: 'accept-encoding' } })
    at += 100
    expect(encodingOf(GZIP)).toBe('gzip')
    const metrics = await registry.metrics()
    expect(metrics).toContain('tidemark_gateway_compression_skipped_total 2')
    expect(metrics).toContain('tidemark_gateway_compressed_answers_total{encoding="gzip"} 3')
    expect(metrics).toContain('tidemark_gateway_compression_seconds_total 0.02')
  })

  it('counts bytes, not characters', () => {
    const compression = makeCompression(1_024, new Registry())
    const encodingOf = (body: string) => compression.compress(GZIP, { ...answer, body }).headers?.['content-encoding']
    expect(['€'.repeat(342), '€'.repeat(341), 'a'.repeat(1_023)].map(encodingOf)).toEqual(['gzip', undefined, undefined])
  })

  it('of a very large answer takes no time, also for a client that refuses uncompressed answers', () => {
    const body = 'a'.repeat(4_194_305)
    const compression = makeCompression(1_024, new Registry())
    expect(compression.compress(COMPRESSED_ONLY, { ...answer, body })).toEqual({ ...answer, headers: { vary: 'accept-encoding' }, body })
  })

  it('leaves an answer as it is if it would not get smaller, or if it is very large', () => {
    const compression = makeCompression(1_024, new Registry())
    for (const body of [randomBytes(5_000), 'a'.repeat(4_194_305)]) {
      const sent = compression.compress(GZIP, { ...answer, body })
      expect([sent.body === body, sent.headers]).toEqual([true, { vary: 'accept-encoding' }])
    }
  })
})
