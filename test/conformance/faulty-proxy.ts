/**
 * A proxy in front of a real service that can break one promise at a time: it changes requests, answers, or the passed events of a stream.
 * Without a fault it passes everything unchanged.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export type Asked = {
  method: string
  /** Path and query. */
  path: string
  headers: Record<string, string>
  body: string
  /** The text of the GraphQL operation; empty if the body is not JSON. */
  query: string
  variables: any
}

/** `json` is undefined if the text is not JSON. */
export type Told = { status: number; contentType: string; text: string; json: any }

export type Fault = {
  /** Sits between the client and the service. */
  answer?(asked: Asked, forward: (asked: Asked) => Promise<Told>): Promise<Told>
  /** Changes the request that opens a stream. */
  open?(asked: Asked): Asked
  /** False drops the event. */
  passes?(event: any): boolean | 'twice'
}

export type FaultyProxy = { url: string; setFault(fault: Fault): void; close(): Promise<void> }

const NOT_PASSED_ON = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'keep-alive'])

/** `serviceUrl` with its path. */
export async function startFaultyProxy(serviceUrl: string): Promise<FaultyProxy> {
  let fault: Fault = {}
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await readAsked(request)
    if (asked.headers['accept'] === 'text/event-stream') return stream(fault.open?.(asked) ?? asked, response)
    const told = await (fault.answer ?? ((plain, forward) => forward(plain)))(asked, forward)
    response.writeHead(told.status, { 'content-type': told.contentType }).end(told.text)
  }

  async function forward(asked: Asked): Promise<Told> {
    const answered = await send(asked)
    const text = await answered.text()
    return { status: answered.status, contentType: answered.headers.get('content-type') ?? '', text, json: parsed(text) }
  }

  async function stream(asked: Asked, response: ServerResponse): Promise<void> {
    const stop = new AbortController()
    response.once('close', () => stop.abort())
    const answered = await send(asked, stop.signal)
    response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' })
    response.flushHeaders()
    let text = ''
    for await (const chunk of answered.body ?? []) {
      text += Buffer.from(chunk).toString('utf8')
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const passes = fault.passes?.(parsed(/^data: (.*)$/m.exec(event)?.[1] ?? '')) ?? true
        if (passes !== false) response.write(`${event}\n\n`.repeat(passes === 'twice' ? 2 : 1))
      }
    }
    response.end(text)
  }

  function send({ method, path, headers, body }: Asked, signal?: AbortSignal): Promise<Response> {
    return fetch(new URL(path, serviceUrl), {
      method,
      headers,
      ...(method === 'GET' ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(serviceUrl).pathname}`,
    setFault(other) {
      fault = other
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function readAsked(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks).toString('utf8')
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) => (NOT_PASSED_ON.has(name) ? [] : [[name, String(value)]])),
  )
  const json = parsed(body)
  return {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    body,
    query: typeof json?.query === 'string' ? json.query : '',
    variables: json?.variables ?? {},
  }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same request with other variables or headers. */
export function askedWith(asked: Asked, change: { variables?: any; headers?: Record<string, string>; query?: string }): Asked {
  const next = { ...asked, ...change }
  return { ...next, body: JSON.stringify({ query: next.query, variables: next.variables }) }
}

export function told(json: unknown, status = 200): Told {
  return { status, contentType: 'application/json', text: JSON.stringify(json), json }
}
