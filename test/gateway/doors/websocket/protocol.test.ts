import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../../../harness/until.ts'
import { startServer, type TestServer } from '../../../support/front-schema.ts'
import { bare, init } from './clients.ts'

describe('the rules of the protocol', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  it('a socket that sends no connection_init within 3 seconds is closed with 4408', async () => {
    const startedAt = Date.now()
    const { closed } = await bare(server)
    expect(await closed).toEqual({ code: 4408, reason: expect.stringMatching(/^Connection initialisation timeout/) })
    expect(Date.now() - startedAt).toBeGreaterThan(2_900)
    expect(Date.now() - startedAt).toBeLessThan(4_500)
  })

  it('an id in use is refused with 4409, and can be used again when its operation is complete', async () => {
    const { send, received, closed } = await init(server)
    const subscribe = (id: string, query: string) => send({ id, type: 'subscribe', payload: { query } })
    subscribe('1', '{ hello }')
    await eventually(() => expect(received).toContainEqual({ id: '1', type: 'complete' }))
    subscribe('1', 'subscription { changes }')
    await eventually(() => expect(server.sources.size).toBe(1))
    subscribe('1', '{ hello }')
    expect(await closed).toEqual({ code: 4409, reason: expect.stringMatching(/^Subscriber for 1 already exists/) })
    await eventually(() => expect(server.sources.size).toBe(0))
  })

  it('invalid messages are refused with 4400', async () => {
    for (const message of [
      'null',
      '[]',
      '{}',
      '{"type":"unknown"}',
      '{"type":"subscribe"}',
      '{"type":"subscribe","id":"","payload":{"query":"{hello}"}}',
      '{"type":"subscribe","id":"1"}',
      '{"type":"subscribe","id":"1","payload":{}}',
      '{"type":"subscribe","id":"1","payload":{"query":7}}',
      '{"type":"subscribe","id":"1","payload":{"query":"{hello}","variables":[]}}',
      '{"type":"complete"}',
    ]) {
      const { send, closed } = await init(server)
      send(message)
      expect([message, (await closed).code]).toEqual([message, 4400])
    }
  })

  it('a call by id with variables of 30,000 levels is refused with 4400, and the server goes on', async () => {
    const { send, closed } = await init(server)
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    send(`{"id":"1","type":"subscribe","payload":{"documentId":"a","variables":{"a":${deep}}}}`)
    expect((await closed).code).toBe(4400)
    await init(server)
  })

  it('a ping is answered by a pong with its payload, even before connection_init', async () => {
    const { socket, send, received } = await bare(server)
    send({ type: 'ping', payload: { n: 1 } })
    await eventually(() => expect(received).toEqual([{ type: 'pong', payload: { n: 1 } }]))
    send({ type: 'pong' })
    send({ type: 'connection_init' })
    await eventually(() => expect(received).toContainEqual({ type: 'connection_ack' }))
    socket.close()
  })

  it('a complete ends its operation, and is ignored if the operation is not open', async () => {
    const { socket, send, received } = await init(server)
    send({ id: 'none', type: 'complete' })
    send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    send({ id: '1', type: 'complete' })
    await eventually(() => expect(server.sources.size).toBe(0))
    send({ id: '2', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() => expect(received).toContainEqual({ id: '2', type: 'complete' }))
    socket.close()
  })

  it('above 1000 open operations, each further one is refused, and the open ones go on', async () => {
    const { socket, send, received } = await init(server)
    for (let id = 0; id < 1_003; id += 1) send({ id: String(id), type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(received.filter(({ type }) => type === 'error')).toHaveLength(3))
    expect(server.sources.size).toBe(1_000)
    socket.close()
    await eventually(() => expect(server.sources.size).toBe(0))
  })
})
