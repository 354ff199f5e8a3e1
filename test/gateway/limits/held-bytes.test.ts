import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { makeHeldBytes } from '../../../gateway/limits/held-bytes.ts'
import { post, startServer } from '../../support/front-schema.ts'
import { eventually } from '../../../harness/until.ts'

const SILENT = { warn() {} }

describe('bytes that connections hold', () => {
  it('above the bound, the connections that hold most are cut until a quarter is free, and small ones stay', () => {
    const held = makeHeldBytes(SILENT, 100)
    const cut: string[] = []
    const open = (name: string) => held.open(() => cut.push(name))
    const holders = ['small', 'large', 'larger', 'other small'].map(open)
    ;[5, 40, 50, 5].forEach((bytes, index) => holders[index]?.set(bytes))
    expect(cut).toEqual([])
    holders[0]?.set(6)
    expect(cut).toEqual(['larger'])
    holders[1]?.close()
    open('new').set(88)
    expect(cut).toEqual(['larger'])
    holders[2]?.set(1_000)
    expect(cut).toEqual(['larger'])
  })
})

describe('incomplete requests', () => {
  it.each(['content-length', 'transfer-encoding'])('with %s are cut above the bound, and others are answered', async (header) => {
    const server = await startServer({ more: { heldBytesMax: 1_000_000 } })
    let cut = 0
    const calls = Array.from({ length: 30 }, () => {
      const call = request(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [header]: header === 'content-length' ? '100000' : 'chunked' },
      })
      call.on('error', () => (cut += 1))
      call.write('x'.repeat(60_000))
      return call
    })
    await eventually(() => expect(cut).toBeGreaterThanOrEqual(20))
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
    expect(cut).toBeLessThan(30)
    for (const call of calls) call.destroy()
    await server.close()
  })

  it('over WebSocket are cut above the bound, and sockets with complete messages stay open', async () => {
    const server = await startServer({ more: { heldBytesMax: 1_000_000 } })
    const closed = new Set<number>()
    const sockets = await Promise.all(
      Array.from({ length: 31 }, async (_, index) => {
        const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
        socket.on('close', () => closed.add(index)).on('error', () => {})
        await new Promise((resolve) => socket.once('open', resolve))
        socket.send('{"type":"connection_init"}')
        await new Promise((resolve) => socket.once('message', resolve))
        return socket
      }),
    )
    const healthy = sockets[0] as WebSocket
    let answers = 0
    healthy.on('message', () => (answers += 1))
    const ping = JSON.stringify({ type: 'ping', payload: { padding: 'x'.repeat(50_000) } })
    for (let count = 0; count < 40; count += 1) healthy.send(ping)
    await eventually(() => expect(answers).toBe(40))
    for (const socket of sockets.slice(1)) socket.send('x'.repeat(60_000), { fin: false })
    await eventually(() => expect(closed.size).toBeGreaterThanOrEqual(10))
    healthy.send(ping)
    await eventually(() => expect(answers).toBe(41))
    expect(closed.has(0)).toBe(false)
    for (const socket of sockets) socket.terminate()
    await server.close()
  })
})

describe('unread answers', () => {
  const NAMES = 90
  const ANSWER_BYTES = NAMES * 90_000
  const query = `query ($n: String) { ${Array.from({ length: NAMES }, (_, at) => `a${at}: hello(name: $n)`).join(' ')} }`
  const body = JSON.stringify({ query, variables: { n: 'x'.repeat(90_000) } })
  const SENT = `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

  /** Reads nothing before `receivedBy`. */
  async function ask(url: string, text: string): Promise<Socket> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.pause()
    socket.write(text)
    return socket
  }

  /** The bytes that arrive before the connection ends, or before `bytesMax`. */
  async function receivedBy(socket: Socket, bytesMax: number): Promise<number> {
    let bytes = 0
    const ended = new Promise<void>((resolve) => {
      if (socket.closed) resolve()
      socket.on('close', resolve)
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes >= bytesMax) resolve()
      })
    })
    socket.resume()
    await ended
    socket.destroy()
    return bytes
  }

  const wasCut = (logged: readonly Record<string, unknown>[]) =>
    logged.some(({ msg }) => typeof msg === 'string' && msg.startsWith('connections were cut'))

  const SCHEMA = 'GET /graphql/schema.graphql HTTP/1.1\r\nhost: localhost\r\n\r\n'

  it.each([
    ['of operations', 12, SENT],
    ['of routes', 12, SCHEMA],
    ['to pipelined requests of one connection', 1, SCHEMA.repeat(12)],
    ['as events of streams', 12, SENT.replace('host:', 'accept: text/event-stream\r\nhost:')],
  ])('above the bound are cut: %s', async (_name, connections, text) => {
    const apiSdl = () => `# ${'x'.repeat(ANSWER_BYTES)}`
    const server = await startServer({ apiSdl, more: { heldBytesMax: 5 * ANSWER_BYTES } })
    const sockets = await Promise.all(Array.from({ length: connections }, () => ask(server.url, text)))
    await eventually(() => expect(wasCut(server.logged)).toBe(true))
    expect((await post(server.url, { query: '{ hello }' })).status).toBe(200)
    const wanted = (ANSWER_BYTES * 12) / connections
    const received = await Promise.all(sockets.map((socket) => receivedBy(socket, wanted)))
    expect(received.some((bytes) => bytes < wanted)).toBe(true)
    await server.close()
  })

  it('do not count any more once they are read, and a connection that stays open is not cut', async () => {
    const server = await startServer({ more: { heldBytesMax: 3 * ANSWER_BYTES } })
    const socket = await ask(server.url, SENT)
    for (let count = 0; count < 10; count += 1)
      expect(JSON.stringify((await post(server.url, body)).json).length).toBeGreaterThan(ANSWER_BYTES)
    expect(await receivedBy(socket, ANSWER_BYTES)).toBeGreaterThanOrEqual(ANSWER_BYTES)
    expect(wasCut(server.logged)).toBe(false)
    await server.close()
  })
})
