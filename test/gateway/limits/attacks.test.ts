/**
 * Malicious requests over HTTP. Each is answered in time with a code, and other clients are served meanwhile.
 * Each test prints the time that it took and the memory that the process kept.
 */
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { post, startServer, type TestServer } from '../../support/front-schema.ts'
import { apollo, makeManifestFolder, sha } from '../../../harness/samples/manifests.ts'

const MUTATION = 'mutation Report { report(oid: "1") }'
const QUERY = 'query Hello { hello }'
const files = makeManifestFolder()
let server: TestServer
/** 50 MB in 50 KB. */
const BOMB = gzipSync(Buffer.alloc(50_000_000, 32))
const figures: string[] = []
let begun = { at: 0, memory: 0 }

beforeAll(async () => {
  files.write('m.json', apollo({ body: MUTATION }, { body: QUERY }, { id: 'report', body: MUTATION }))
  server = await startServer({ bodyBytesMax: 1_000_000, requestMaxMs: 900, persisted: { manifests: [files.folder] } })
  await post(server.url, { query: '{ hello }' })
})
afterAll(async () => {
  console.log(figures.join('\n'))
  await server.close()
  files.remove()
})
beforeEach(async () => {
  begun = { memory: await memory(), at: performance.now() }
})
afterEach(async ({ task }) => {
  const ms = Math.round(performance.now() - begun.at)
  const kept = ((await memory()) - begun.memory) / 1_048_576
  figures.push(`${String(ms).padStart(6)} ms ${kept.toFixed(1).padStart(7)} MB  ${task.name}`)
  expect(kept).toBeLessThan(20)
  // The next client is served after each attack.
  expect((await post(server.url, { query: '{ hello }' })).json).toEqual({ data: { hello: 'hello world' } })
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that are in use after a collection. */
async function memory(): Promise<number> {
  collect()
  // A socket or a stream releases its values one turn of the event loop later.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

type Refused = { status: number; code: unknown; message: string; headers: Headers }

async function send(path: string, init: RequestInit): Promise<Refused> {
  const response = await fetch(`${server.url}${path}`, init)
  const text = await response.text()
  const [error] =
    (text === '' ? {} : (JSON.parse(text) as { errors?: { message: string; extensions?: { code?: unknown } }[] })).errors ?? []
  return { status: response.status, code: error?.extensions?.code ?? 'ok', message: error?.message ?? '', headers: response.headers }
}

const json = (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

/** Opens a connection, writes, and resolves to all that the server sends until the connection is closed. */
function raw(write: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => (received += text))
    socket.on('error', () => {})
    socket.once('close', () => resolve(received))
    write(socket)
  })
}

/** Sends a byte every `everyMs`, until the server closes the connection. */
function dribble(socket: Socket, text: string, everyMs: number): void {
  let at = 0
  const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ''), everyMs)
  socket.once('close', () => clearInterval(timer))
}

describe('requests that are too large', () => {
  it('a body of 10 MB is refused before it is read', async () => {
    const received = await raw((socket) => {
      socket.write('POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10485760\r\n\r\n')
    })
    expect(received).toMatch(/^HTTP\/1.1 413 /)
    expect(received).toContain('BODY_TOO_LARGE')
    expect(performance.now() - begun.at).toBeLessThan(1_000)
  })

  it.each(['content-length: 10485760', 'transfer-encoding: chunked'])(
    'a body of 10 MB that is sent with %s is refused and not kept',
    async (length) => {
      const received = await raw((socket) => {
        socket.write(`POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${length}\r\n\r\n`)
        const chunk = Buffer.alloc(65_536, 32)
        for (let sent = 0; sent < 160; sent++) {
          if (length.includes('chunked')) socket.write('10000\r\n')
          socket.write(chunk)
          if (length.includes('chunked')) socket.write('\r\n')
        }
        socket.end(length.includes('chunked') ? '0\r\n\r\n' : '')
      })
      // The connection is closed while the client still sends, so the client may miss the answer.
      if (received !== '') expect(received).toMatch(/^HTTP\/1.1 413 .*BODY_TOO_LARGE/s)
    },
  )

  it.each([
    ['that never end', `{"variables":${'['.repeat(900_000)}`],
    ['that end', `{"query":"{ hello }","variables":{"a":${'['.repeat(450_000)}${']'.repeat(450_000)}}}`],
    ['of both kinds', `{"query":"{ hello }","variables":${'{"a":['.repeat(150_000)}`],
  ])('a body of 1 MB of brackets %s is refused before it is parsed', async (_name, body) => {
    for (const path of ['/graphql', '/graphql/', '/graphql/p/report']) {
      const refused = await send(path, json(body))
      expect([refused.status, refused.code, refused.message]).toEqual([400, 'BAD_REQUEST', expect.stringContaining('more than 200 levels')])
    }
  })

  it('a body of 1 MB of brackets in a string is answered', async () => {
    const variables = { name: `\\"${'[{'.repeat(100_000)}` }
    const answer = await post(server.url, { query: 'query Q($name: String) { hello(name: $name) }', variables })
    expect(answer.json).toEqual({ data: { hello: `hello ${variables.name}` } })
  })

  it('a WebSocket message of 1 MB of brackets closes its own socket only', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws'])
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    socket.once('open', () => socket.send(`{"type":"connection_init","payload":${'['.repeat(900_000)}`))
    const sentAt = performance.now()
    expect(await closed).toBe(4400)
    // `ws` waits up to 30 s for the close frame of the client.
    expect(performance.now() - sentAt).toBeLessThan(20_000)
  })

  it('a URL of 1 MB is refused, and the message says what to do instead', async () => {
    const refused = await send(`/graphql?query=${'x'.repeat(1_000_000)}`, {}).catch(() => undefined)
    if (refused !== undefined)
      expect([refused.status, refused.code, refused.message]).toEqual([431, 'BAD_REQUEST', expect.stringContaining('POST')])
    const received = await raw((socket) => socket.write(`GET /graphql?query=${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`))
    expect(received).toMatch(/^HTTP\/1.1 431 .*in a POST body or by its id/s)
  })

  it('a batch of 20,000 operations is refused, and none of them runs', async () => {
    const { prepared } = server.engine.calls
    const refused = await send('/graphql', json(JSON.stringify(Array.from({ length: 20_000 }, () => ({ query: '{ hello }' })))))
    expect([refused.status, refused.code, server.engine.calls.prepared - prepared]).toEqual([400, 'BAD_REQUEST', 0])
  })

  it('a batch of ids is refused as well', async () => {
    for (const path of ['/graphql', '/graphql/p/report']) {
      expect((await send(path, json(JSON.stringify([{ documentId: 'report' }])))).code).toBe('BAD_REQUEST')
    }
  })

  it('500 unknown ids leave nothing in memory', async () => {
    const { parsed } = server.engine.calls
    for (let i = 0; i < 500; i++) {
      const body = { documentId: sha(String(i)) }
      expect((await post(server.url, body)).json.errors?.[0]?.extensions?.['code']).toBe('PERSISTED_QUERY_NOT_FOUND')
    }
    expect(server.engine.calls.parsed).toBe(parsed)
  })
})

describe('requests that are too slow', () => {
  const inTime = () => {
    const ms = performance.now() - begun.at
    expect(ms).toBeGreaterThan(200)
    expect(ms).toBeLessThan(5_000)
  }

  it('a request with headers that come a byte at a time is cut with 408', async () => {
    const received = await raw((socket) => {
      socket.write('POST /graphql HTTP/1.1\r\nhost: x\r\n')
      dribble(socket, 'x-a: b\r\n', 20)
    })
    expect(received).toMatch(/^HTTP\/1.1 408 .*REQUEST_TIMEOUT/s)
    inTime()
  })

  it.each(['/graphql', '/graphql/', '/graphql/p/report'])(
    'a request with a body for %s that comes a byte at a time is cut with 408',
    async (path) => {
      const received = await raw((socket) => {
        socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n`)
        dribble(socket, ' ', 20)
      })
      expect(received).toMatch(/^HTTP\/1.1 408 .*REQUEST_TIMEOUT/s)
      inTime()
    },
  )

  it('a request without its body is cut with 408', async () => {
    const received = await raw((socket) =>
      socket.write('POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n'),
    )
    expect(received).toMatch(/^HTTP\/1.1 408 /)
    inTime()
  })

  it('300 slow connections are all cut, and other requests are answered at once meanwhile', async () => {
    const slow = Array.from({ length: 300 }, () =>
      raw((socket) => {
        socket.write('GET /graphql HTTP/1.1\r\n')
        dribble(socket, 'x-a: b\r\n', 50)
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    const at = performance.now()
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
    expect(performance.now() - at).toBeLessThan(1_000)
    for (const received of await Promise.all(slow)) expect(received).toContain('REQUEST_TIMEOUT')
    inTime()
  })
})

describe('requests that are malformed', () => {
  it('bytes that are not UTF-8 are refused in every place', async () => {
    const invalid = Buffer.concat([
      Buffer.from('{"query":"mutation($o: ID!) { report(oid: $o) }","variables":{"o":"'),
      Buffer.from([0xff, 0xc3, 0x28]),
      Buffer.from('"}}'),
    ])
    for (const path of ['/graphql', '/graphql/', '/graphql/p/report']) {
      const refused = await send(path, json(invalid))
      expect([refused.status, refused.code, refused.message], path).toEqual([400, 'BAD_REQUEST', expect.stringContaining('UTF-8')])
    }
    const url = await raw((socket) =>
      socket.write('GET /graphql?query={hello(name:"%ff")} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
    )
    expect(url).toMatch(/^HTTP\/1.1 400 .*UTF-8/s)
  })

  it('compressed bodies are refused and never decompressed', async () => {
    for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity']) {
      for (const path of ['/graphql', '/graphql/', '/graphql/p/report']) {
        const refused = await send(path, json(BOMB, { 'content-encoding': encoding }))
        expect([refused.status, refused.code], `${encoding} ${path}`).toEqual([415, 'BODY_ENCODED'])
      }
      expect((await send('/graphql', json(BOMB, { 'content-encoding': encoding, accept: 'text/event-stream' }))).code).toBe('BODY_ENCODED')
    }
    expect((await send('/graphql', json('{"query":"{ hello }"}', { 'content-encoding': 'identity' }))).code).toBe('ok')
  })

  it.each(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE'])(
    '%s changes nothing, and the answer names the allowed methods',
    async (method) => {
      for (const path of [`/graphql?query=${encodeURIComponent(MUTATION)}`, '/graphql/p/report', '/graphql']) {
        const received = await raw((socket) => socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`))
        expect(received, path).toMatch(/^HTTP\/1.1 4(?:05|04) /)
        expect(received).not.toContain('nobody:1')
      }
    },
  )
})

/** The requests that a form or a script of a foreign page can send without a preflight: three methods, three media types, no headers. */
describe('a foreign page', () => {
  const runs = async (path: string, init: RequestInit): Promise<boolean> => {
    const response = await fetch(`${server.url}${path}`, {
      ...init,
      headers: { origin: 'https://evil.example', ...(init.headers as Record<string, string>) },
    })
    const text = await response.text()
    expect(response.headers.get('access-control-allow-origin')).toBe(null)
    return text.includes('nobody:1')
  }

  it('can run a mutation by a request of the right type, so the other tests prove something', async () => {
    expect(await runs('/graphql', json(JSON.stringify({ documentId: 'report' })))).toBe(true)
    expect(await runs('/graphql/p/report', { method: 'POST', headers: { 'content-type': 'application/json' } })).toBe(true)
  })

  const TYPES = [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'text/plain; application/json',
    '',
    'text/plain, application/json',
  ]
  const BODIES = [
    JSON.stringify({ query: MUTATION }),
    JSON.stringify({ documentId: 'report' }),
    'doc_id=report',
    `query=${encodeURIComponent(MUTATION)}`,
    '--x\r\ncontent-disposition: form-data; name="doc_id"\r\n\r\nreport\r\n--x--',
    '{}',
    '',
  ]
  it.each(TYPES)('runs no mutation by POST of "%s"', async (type) => {
    for (const path of [
      '/graphql',
      '/graphql/',
      '/graphql/p/report',
      `/graphql?query=${encodeURIComponent(MUTATION)}`,
      '/graphql?doc_id=report',
    ]) {
      for (const body of BODIES) {
        for (const accept of ['*/*', 'text/event-stream']) {
          // A page sends a body without a content-type as a Blob without a type.
          const sent = type === '' ? new Blob([body]) : body
          const headers: Record<string, string> = type === '' ? { accept } : { accept, 'content-type': type }
          expect(await runs(path, { method: 'POST', headers, ...(body === '' ? {} : { body: sent }) }), `${path} ${body}`).toBe(false)
        }
      }
    }
  })

  it('runs no mutation by GET in any form', async () => {
    const forms = [
      `/graphql?query=${encodeURIComponent(MUTATION)}`,
      '/graphql?documentId=report',
      '/graphql?doc_id=report',
      `/graphql?extensions=${encodeURIComponent(JSON.stringify({ persistedQuery: { version: 1, sha256Hash: sha(MUTATION) } }))}`,
      '/graphql/p/report',
      `/graphql/p/${sha(MUTATION)}`,
    ]
    for (const form of forms) {
      for (const accept of ['*/*', 'application/graphql-response+json', 'text/event-stream']) {
        expect(await runs(form, { headers: { accept } }), form).toBe(false)
        expect((await fetch(`${server.url}${form}`, { headers: { accept } })).status, form).toBe(405)
      }
    }
  })

  it('gets no answer to a preflight that would allow it to send JSON', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    expect([response.ok, response.headers.get('access-control-allow-origin')]).toEqual([false, null])
  })
})
