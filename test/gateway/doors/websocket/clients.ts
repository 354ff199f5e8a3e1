/** Clients for WebSocket tests: a client of the library, which follows the protocol, and a bare socket. */
import { createClient, type Client, type ClientOptions } from 'graphql-ws'
import { SignJWT } from 'jose'
import { afterEach, expect } from 'vitest'
import { WebSocket } from 'ws'
import { eventually } from '../../../../harness/until.ts'
import type { TestServer } from '../../../support/front-schema.ts'

export const SECRET = 'a secret of at least thirty-two bytes'

export function token(sub: string, expiresIn = 60): Promise<string> {
  return new SignJWT({ sub, exp: Math.floor(Date.now() / 1_000) + expiresIn })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(SECRET))
}

const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose()
})

export function open(server: TestServer, connectionParams: Record<string, unknown> = {}, options: Partial<ClientOptions> = {}): Client {
  const client = createClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    ...options,
  })
  clients.push(client)
  return client
}

export async function one(client: Client, query: string, variables?: Record<string, unknown>): Promise<unknown> {
  const results = await all(client, query, variables)
  expect(results).toHaveLength(1)
  return results[0]
}

export async function all(client: Client, query: string, variables?: Record<string, unknown>): Promise<unknown[]> {
  const results: unknown[] = []
  for await (const result of client.iterate({ query, ...(variables === undefined ? {} : { variables }) })) results.push(result)
  return results
}

/** A bare socket, for messages that the library never sends. */
export async function bare(server: TestServer, protocol: string | null = 'graphql-transport-ws', path = '/graphql') {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocol === null ? [] : [protocol])
  const received: Record<string, unknown>[] = []
  socket.on('message', (data) => received.push(JSON.parse((data as Buffer).toString()) as Record<string, unknown>))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    socket,
    received,
    closed,
    send: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}

/** A bare socket after `connection_init`. */
export async function init(server: TestServer, payload?: unknown) {
  const socket = await bare(server)
  socket.send({ type: 'connection_init', payload })
  await eventually(() => expect(socket.received).toEqual([{ type: 'connection_ack' }]))
  return socket
}
