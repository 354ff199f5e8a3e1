import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../../../../harness/until.ts'
import { startServer, type TestServer } from '../../../support/front-schema.ts'
import { bare, init } from './clients.ts'

describe('the limits of a socket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  it('subscriptions above the total cost are refused one by one, and one that ends, fails or is completed makes room', async () => {
    const small = await startServer({ subscriptionsCostMax: 102 })
    try {
      const { send, received } = await init(small)
      const subscribe = (id: string, query: string) => send({ id, type: 'subscribe', payload: { query } })
      const refused = (id: string) => ({
        id,
        type: 'error',
        payload: [expect.objectContaining({ extensions: expect.objectContaining({ code: 'SUBSCRIPTIONS_TOO_MANY' }) })],
      })
      const complete = (id: string) => send({ id, type: 'complete' })
      let tries = 0
      /** A subscription that was completed while it opened releases its cost when it has opened. Repeats until there is room. */
      const opened = async (): Promise<string> => {
        for (;;) {
          const before = small.sources.size
          const id = `try${tries++}`
          expect(tries).toBeLessThan(1_000)
          subscribe(id, 'subscription { changes }')
          const wasRefused = () => received.some((message) => message['id'] === id && message['type'] === 'error')
          await eventually(() => expect(small.sources.size > before || wasRefused()).toBe(true))
          if (!wasRefused()) return id
        }
      }
      // Repeats four cases: a subscription ends, fails while it opens, fails later, or is completed while it opens.
      for (let round = 0; round < 3; round++) {
        subscribe(`ends${round}`, 'subscription { ticks(count: 2) }')
        await eventually(() => expect(received).toContainEqual({ id: `ends${round}`, type: 'complete' }))
        subscribe(`forbidden${round}`, 'subscription { forbidden }')
        await eventually(() => expect(received).toContainEqual({ id: `forbidden${round}`, type: 'complete' }))
        subscribe(`breaks${round}`, 'subscription { breaks }')
        await eventually(() => expect(received.some(({ id, type }) => id === `breaks${round}` && type !== 'next')).toBe(true))
        subscribe(`left${round}`, 'subscription { changes }')
        complete(`left${round}`)
        await eventually(() => expect(small.sources.size).toBe(0))
        // There is room for two again.
        for (const id of [await opened(), await opened()]) complete(id)
        await eventually(() => expect(small.sources.size).toBe(0))
      }
      const [first] = [await opened(), await opened()]
      subscribe('3', 'subscription { changes }')
      await eventually(() => expect(received).toContainEqual(refused('3')))
      subscribe('4', '{ hello }')
      await eventually(() => expect(received).toContainEqual({ id: '4', type: 'complete' }))
      const other = await init(small)
      other.send({ id: '1', type: 'subscribe', payload: { query: 'subscription { changes }' } })
      await eventually(() => expect(small.sources.size).toBe(3))
      complete(first ?? '')
      await eventually(() => expect(small.sources.size).toBe(2))
      await opened()
    } finally {
      await small.close()
    }
  })

  it('a client that does not read its answers is not read either; others are served, and it gets all answers when it reads', async () => {
    const { socket, send, received } = await init(server)
    socket.pause()
    const name = 'x'.repeat(60_000)
    for (let id = 0; id < 400; id += 1)
      send({ id: String(id), type: 'subscribe', payload: { query: 'query ($name: String) { hello(name: $name) }', variables: { name } } })
    const other = await init(server)
    other.send({ id: '1', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() => expect(other.received).toContainEqual({ id: '1', type: 'complete' }))
    expect(socket.bufferedAmount).toBeGreaterThan(10_000_000)
    socket.resume()
    await eventually(() => expect(received.filter(({ type }) => type === 'complete')).toHaveLength(400))
    socket.close()
    other.socket.close()
  })

  it('a client that reads its answers may have any number of them', async () => {
    const { socket, send, received } = await init(server)
    const name = 'x'.repeat(60_000)
    for (let id = 0; id < 500; id += 1)
      send({ id: String(id), type: 'subscribe', payload: { query: 'query ($name: String) { hello(name: $name) }', variables: { name } } })
    await eventually(() => expect(received.filter(({ type }) => type === 'complete')).toHaveLength(500))
    socket.close()
  })
})

it('a socket that answers no ping is terminated', async () => {
  const server = await startServer({ pingEveryMs: 400 })
  const { socket, send, closed } = await bare(server)
  send({ type: 'connection_init' })
  socket.pong = () => {}
  expect((await closed).code).toBe(1006)
  const alive = await bare(server)
  alive.send({ type: 'connection_init' })
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  expect(alive.socket.readyState).toBe(WebSocket.OPEN)
  alive.socket.terminate()
  await server.close()
})
