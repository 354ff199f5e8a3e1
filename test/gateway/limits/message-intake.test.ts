import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startServer, type TestServer } from '../../support/front-schema.ts'
import { eventually, until } from '../../../harness/until.ts'

let server: TestServer
beforeEach(async () => {
  server = await startServer()
})
afterEach(() => server.close())

async function connect() {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const counts: Record<string, number> = {}
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  socket.on('message', (data: Buffer) => {
    const { type } = JSON.parse(data.toString()) as { type: string }
    counts[type] = (counts[type] ?? 0) + 1
  })
  socket.on('pong', () => (counts['frame'] = (counts['frame'] ?? 0) + 1))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const send = (message: object): void => socket.send(JSON.stringify(message))
  send({ type: 'connection_init' })
  await eventually(() => expect(counts['connection_ack']).toBe(1))
  return { socket, counts, send, closed }
}

describe('the messages of a WebSocket', () => {
  it('are read at a bounded rate: a flood of pings is answered slowly, and other clients are served', async () => {
    const flood = await connect()
    const begun = performance.now()
    for (let count = 0; count < 20_000; count += 1) {
      flood.send({ type: 'ping' })
      flood.socket.ping()
    }
    const other = await connect()
    other.send({ id: '1', type: 'subscribe', payload: { query: '{ hello }' } })
    await eventually(() => expect(other.counts['complete']).toBe(1))
    await until('a second has passed', () => performance.now() - begun > 1_000)
    const answered = (flood.counts['pong'] ?? 0) + (flood.counts['frame'] ?? 0)
    expect(answered).toBeLessThanOrEqual(500 + Math.ceil(((performance.now() - begun) / 1_000) * 50))
    flood.socket.terminate()
    other.socket.close()
  })

  it('wait while thirty-two queries are under way, and none is lost', async () => {
    const { socket, counts, send } = await connect()
    const gates = Array.from({ length: 40 }, () => server.hold())
    let entered = 0
    for (const gate of gates) void gate.entered.then(() => (entered += 1))
    gates.forEach((_, id) => send({ id: String(id), type: 'subscribe', payload: { query: '{ held }' } }))
    await eventually(() => expect(entered).toBe(32))
    send({ id: 'last', type: 'subscribe', payload: { query: '{ hello }' } })
    for (const gate of gates) gate.open()
    await eventually(() => expect(counts['complete']).toBe(41))
    expect(entered).toBe(40)
    socket.close()
  })

  it('wait behind a heavy query if they are heavy too, and light ones are answered', async () => {
    await server.close()
    server = await startServer({ more: { operationCostMax: 1 } })
    const { socket, counts, send } = await connect()
    const gates = [server.hold(), server.hold()]
    let entered = 0
    for (const gate of gates) void gate.entered.then(() => (entered += 1))
    for (const id of ['1', '2']) send({ id, type: 'subscribe', payload: { query: '{ held }' } })
    send({ id: '3', type: 'subscribe', payload: { query: 'subscription { changes }' } })
    await eventually(() => expect(server.sources.size).toBe(1))
    expect(entered).toBe(1)
    gates[0]?.open()
    await eventually(() => expect(entered).toBe(2))
    gates[1]?.open()
    await eventually(() => expect(counts['complete']).toBe(2))
    socket.close()
  })

  it('close the socket with 4400 if only servers may send them, and nothing is logged', async () => {
    for (const message of [
      { id: '1', type: 'next', payload: { data: {} } },
      { id: '1', type: 'error', payload: [{ message: 'x' }] },
      { type: 'connection_ack' },
    ]) {
      const { send, closed } = await connect()
      send(message)
      expect(await closed).toEqual({ code: 4400, reason: expect.stringMatching(/^Invalid message received/) })
    }
    expect(server.logged.filter(({ level }) => Number(level) > 20)).toEqual([])
  })
})
