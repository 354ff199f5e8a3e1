/** Subgraphs behind real sockets, with any behaviour that a test needs, and the transport that calls them. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { parse } from 'graphql'
import { onTestFinished } from 'vitest'
import { remoteTransport } from '../../../gateway/transports/remote-transport.ts'
import type { RemoteOptions, RemoteTransport } from '../../../gateway/transports/remote-transport.ts'
import type { CompiledFetch, FetchOperation, FetchResult, FetchVariables } from '../../../gateway/transports/transport.ts'

export type Received = { body: string; headers: IncomingMessage['headers'] }
export type Handler = (received: Received, response: ServerResponse, socket: Socket) => void

export type HttpSubgraph = {
  url: string
  port: number
  received: Received[]
  /** Connections made so far. */
  connections(): number
  handle(handler: Handler): void
  close(): Promise<void>
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body))
}

export async function startSubgraph(first: Handler, port = 0): Promise<HttpSubgraph> {
  let handler = first
  let connections = 0
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const each = { body, headers: request.headers }
      received.push(each)
      handler(each, response, request.socket)
    })
  })
  server.on('connection', () => (connections += 1))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const bound = (server.address() as AddressInfo).port
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${bound}/graphql`,
    port: bound,
    received,
    connections: () => connections,
    handle: (next) => void (handler = next),
    close,
  }
}

/** Closed after the test. */
export function connectTo(subgraph: { url: string }, options: Partial<RemoteOptions> = {}): RemoteTransport {
  const transport = remoteTransport({ name: 'videos', url: subgraph.url, timeoutMs: 1_000, random: () => 0.1, ...options })
  onTestFinished(() => transport.close())
  return transport
}

type Fetch = Pick<CompiledFetch, 'subscribe'> & { run(variables: FetchVariables, context: object): Promise<FetchResult> }

export function fetchOf(transport: RemoteTransport, text: string, kind: FetchOperation['kind'] = 'query'): Fetch {
  const fetch = transport.compile({ kind, name: undefined, text, document: parse(text) })
  return { ...fetch, run: async (variables, context) => fetch.run(variables, context) }
}

/** The code and message of the error that a promise rejects with, and the time until then. */
export async function refusalOf(promise: unknown): Promise<{ code: unknown; message: string; ms: number; cause: unknown }> {
  const begun = performance.now()
  try {
    await promise
  } catch (error) {
    const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown }
    return { code, message, ms: performance.now() - begun, cause }
  }
  throw new Error('it was answered')
}
