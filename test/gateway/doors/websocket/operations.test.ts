import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../../harness/until.ts'
import { startServer, type TestServer } from '../../../support/front-schema.ts'
import { all, bare, one, open } from './clients.ts'

describe('a WebSocket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('carries queries, mutations and subscriptions', async () => {
    const client = open(server, { viewerId: '5' })
    expect(await one(client, 'query Q($name: String) { hello(name: $name) }', { name: 'Ada' })).toEqual({ data: { hello: 'hello Ada' } })
    expect(await one(client, 'mutation { report(oid: "1") }')).toEqual({ data: { report: '5:1' } })
    expect(await all(client, 'subscription { ticks(count: 3) }')).toEqual([1, 2, 3].map((ticks) => ({ data: { ticks } })))
  })

  it('gives each operation its own context, and parses a repeated operation once', async () => {
    const client = open(server)
    const first = (await one(client, '{ context }')) as { data: { context: number } }
    const parsed = server.engine.calls.parsed
    const second = (await one(client, '{ context }')) as { data: { context: number } }
    expect(second.data.context).toBeGreaterThan(first.data.context)
    expect(server.engine.calls.parsed).toBe(parsed)
  })

  it('sends errors of fields with their data, and errors of documents without', async () => {
    const client = open(server)
    expect(await one(client, '{ hello mine }')).toEqual({
      data: { hello: 'hello world', mine: null },
      errors: [
        expect.objectContaining({
          message: 'history belongs to a viewer: send a token',
          path: ['mine'],
          extensions: { code: 'UNAUTHENTICATED' },
        }),
      ],
    })
    await expect(one(client, '{')).rejects.toEqual([expect.objectContaining({ extensions: { code: 'GRAPHQL_PARSE_FAILED' } })])
    await expect(one(client, '{ nothing }')).rejects.toEqual([
      expect.objectContaining({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }),
    ])
    expect(await one(client, 'subscription { forbidden }')).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })],
    })
  })

  it('ends a subscription at its source if the client completes it or leaves', async () => {
    const client = open(server)
    const changes = client.iterate({ query: 'subscription { changes }' })
    const first = changes.next()
    await eventually(() => expect(server.sources.size).toBe(1))
    for (const source of server.sources) source.emit('first')
    expect((await first).value).toEqual({ data: { changes: 'first' } })
    await changes.return?.()
    await eventually(() => expect(server.sources.size).toBe(0))

    const { socket, send, received } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    socket.terminate()
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('is closed with the code of the protocol for a forbidden message', async () => {
    const early = await bare(server)
    early.send({ id: '1', type: 'subscribe', payload: { query: '{ hello }' } })
    expect((await early.closed).code).toBe(4401)
    const garbage = await bare(server)
    garbage.send('{ no JSON')
    expect((await garbage.closed).code).toBe(4400)
    const twice = await bare(server)
    twice.send({ type: 'connection_init' })
    twice.send({ type: 'connection_init' })
    expect((await twice.closed).code).toBe(4429)
    const large = await bare(server)
    large.send({ type: 'connection_init', payload: { x: 'x'.repeat(200_000) } })
    expect((await large.closed).code).toBe(1009)
    const legacy = await bare(server, null)
    expect((await legacy.closed).code).toBe(4406)
    expect(await one(open(server), '{ hello }')).toEqual({ data: { hello: 'hello world' } })
  })

  it('is refused on another path, and the server goes on', async () => {
    await expect(bare(server, 'graphql-transport-ws', '/elsewhere')).rejects.toThrow('404')
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write('GET /graphql HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
    expect(text).toMatch(/^HTTP\/1.1 4\d\d/)
    socket.destroy()
  })

  it('is counted while it is open', async () => {
    const own = await startServer()
    const client = open(own)
    await one(client, '{ hello }')
    const count = async () => Number(/^tidemark_gateway_sockets_open (\d+)$/m.exec(await (await fetch(`${own.url}/metrics`)).text())?.[1])
    expect(await count()).toBe(1)
    await client.dispose()
    await eventually(async () => expect(await count()).toBe(0))
    await own.close()
  })
})

describe('a shutdown', () => {
  it('answers queries under way, then closes with 1001, and does not complete subscriptions', async () => {
    const server = await startServer()
    const gate = server.hold()
    const { send, received, closed } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: 'changes', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    send({ id: 'held', type: 'subscribe', payload: { query: '{ held }' } })
    await gate.entered
    const serverClosed = server.close()
    await new Promise((resolve) => setTimeout(resolve, 30))
    send({ id: 'late', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() =>
      expect(received).toContainEqual({
        id: 'late',
        type: 'error',
        payload: [expect.objectContaining({ extensions: { code: 'SHUTTING_DOWN', retryable: true } })],
      }),
    )
    gate.open()
    expect(await closed).toEqual({ code: 1001, reason: expect.any(String) })
    await serverClosed
    expect(received).toContainEqual({ id: 'held', type: 'next', payload: { data: { held: true } } })
    expect(received).toContainEqual({ id: 'held', type: 'complete' })
    expect(received).not.toContainEqual({ id: 'changes', type: 'complete' })
    expect(server.sources.size).toBe(0)
  })

  it('terminates sockets that take longer than drainMaxMs', async () => {
    const server = await startServer({ drainMaxMs: 100 })
    const gate = server.hold()
    const { send, received, closed } = await bare(server)
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toHaveLength(1))
    send({ id: 'held', type: 'subscribe', payload: { query: '{ held }' } })
    await gate.entered
    await server.close()
    expect((await closed).code).toBe(1006)
    gate.open()
  })
})
