/**
 * Nearly all requests come here: a POST to the API with a `content-length` that is not too large. Body and answer go directly through
 * Node's own objects. Routing, hooks and reply objects would double the cost of the front per request (8 µs instead of 4). Every other
 * request takes the routes of the server.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { JSON_TYPE } from './accept.ts'
import { textOf } from './body.ts'
import { refusal, type Answer } from './http.ts'
import type { HttpRequest } from './parameters.ts'

export type FastLaneOptions = { readonly path: string; readonly bodyBytesMax: number }

/** Returns true if it has taken the request. */
export type FastLane = (request: IncomingMessage, response: ServerResponse) => boolean

export function makeFastLane(serve: (request: HttpRequest, response: ServerResponse) => Promise<void>, options: FastLaneOptions): FastLane {
  const { path, bodyBytesMax } = options
  return function take(request, response) {
    if (request.method !== 'POST' || request.url !== path) return false
    const length = Number(request.headers['content-length'])
    if (!(length > 0 && length <= bodyBytesMax)) return false
    readBody(request, (bytes) => {
      const body = textOf(bytes, request.headers)
      if (typeof body !== 'string') writeAnswer(response, refusal(body, JSON_TYPE))
      else void serve({ method: 'POST', url: path, headers: request.headers, body, address: request.socket.remoteAddress }, response)
    })
    return true
  }
}

/** Node's parser delivers `content-length` bytes, or it closes the connection: then no client waits for an answer. */
function readBody(request: IncomingMessage, done: (bytes: Buffer) => void): void {
  let first: Buffer | undefined
  let rest: Buffer[] | undefined
  request.on('data', (chunk: Buffer) => {
    if (first === undefined) first = chunk
    else (rest ??= []).push(chunk)
  })
  request.on('end', () => {
    if (first === undefined) return
    const bytes = rest === undefined ? first : Buffer.concat([first, ...rest])
    // These listeners live until the request is answered. Its text is kept until then, but not its bytes.
    first = rest = undefined
    done(bytes)
  })
}

/** The response may have a `vary` header already; see cors.ts. */
function headersOf(response: ServerResponse, { headers }: Answer): Answer['headers'] {
  const present = response.getHeader('vary')
  return present === undefined || headers?.['vary'] === undefined ? headers : { ...headers, vary: `${String(present)}, ${headers['vary']}` }
}

export const NOT_STORED = Object.freeze({ 'cache-control': 'no-store' })

export function writeAnswer(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(answer.body),
    // Without `no-store`, caches may keep a 404 or a 405 as long as they like.
    ...(answer.status === 200 ? undefined : NOT_STORED),
    ...headersOf(response, answer),
  })
  response.end(answer.body)
}

/**
 * Answers on a bare socket and closes both sides. The client may never close its side, and no timeout of HTTP applies to a connection that
 * was upgraded.
 */
export function endWith(duplex: Duplex, { status, contentType, headers, body }: Answer): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  duplex.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`, () => duplex.destroy())
}
