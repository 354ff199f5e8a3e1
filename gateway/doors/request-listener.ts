/**
 * Receives requests. First it checks the host, the origin and the declared size.
 *
 * Nearly all requests are then a POST to the API with a `content-length` that is not too large. Their bodies are read here, directly from
 * Node's own objects. Routing, hooks and reply objects would double the cost of the front per request (8 µs instead of 4). Every other
 * request takes the routes of the server.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { holdBody } from '../limits/held-bytes.ts'
import { LARGE_BODY } from '../limits/message-intake.ts'
import type { Front } from '../request/front.ts'
import type { Refusal } from '../request/refusal.ts'
import { JSON_TYPE, negotiate } from './accept.ts'
import type { AccessLog } from './access-log.ts'
import type { Cors } from './browsers/cors.ts'
import { refusal, requestErrors, writeAnswer, type Answer } from './answers.ts'
import { declaredBytes, textOf } from './body.ts'
import { hostRefused, type IsKnownHost } from './browsers/hosts.ts'
import type { InFlight } from './in-flight.ts'
import { badRequest } from './request-errors.ts'
import type { HandleRequest } from './request-handler.ts'

/** `isKnownHost` absent: all hosts are answered. `accessLog` absent: there is none. */
export type RequestChecks = {
  readonly isKnownHost: IsKnownHost | undefined
  readonly cors: Cors
  readonly accessLog?: AccessLog | undefined
}

/** `path`: that of the API. */
export type ListenerOptions = { readonly path: string; readonly bodyBytesMax: number }

/** `handle` takes most requests to the API, and `route` all others. */
export function makeRequestListener(
  front: Front,
  inFlight: InFlight,
  { isKnownHost, cors, accessLog }: RequestChecks,
  { path, bodyBytesMax }: ListenerOptions,
  handle: HandleRequest,
  route: RequestListener,
): RequestListener<typeof IncomingMessage, typeof ServerResponse<IncomingMessage>> {
  return (request, response) => {
    inFlight.track(response)
    accessLog?.(request, response)
    holdBody(front.heldBytes, request, response, bodyBytesMax)
    const { host } = request.headers
    if (host === undefined && request.httpVersion === '1.1') return writeAnswer(response, NO_HOST)
    if (isKnownHost?.(host) === false) return writeAnswer(response, refusal(hostRefused(host), JSON_TYPE))
    if (cors(request, response)) return
    const bytes = declaredBytes(request.headers)
    // A body that is too large is refused unread anyway.
    const isLarge = bytes === undefined ? bodyBytesMax > LARGE_BODY : bytes > LARGE_BODY && bytes <= bodyBytesMax
    if (isLarge) void readOrRefuse(request, response)
    else read(request, response)
  }

  async function readOrRefuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = await refuseUnread(front, request)
    if (refused === undefined) return read(request, response)
    writeAnswer(response, refused)
    // Closing would lose the answer for a client that is still sending.
    request.resume()
  }

  function read(request: IncomingMessage, response: ServerResponse): void {
    const length = Number(request.headers['content-length'])
    if (request.method !== 'POST' || request.url !== path || !(length > 0 && length <= bodyBytesMax)) return route(request, response)
    readBody(request, (bytes) => {
      const body = textOf(bytes, request.headers)
      if (typeof body !== 'string') writeAnswer(response, refusal(body, JSON_TYPE))
      else void handle({ method: 'POST', url: path, headers: request.headers, body, address: request.socket.remoteAddress }, response)
    })
  }
}

const NO_HOST = badRequest(400, 'the header "host" is missing: send the name of this server')

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

/**
 * Charges a large body of declared length before it is read. Returns the answer to a caller that must wait: reading and checking a megabyte
 * takes milliseconds, and a refused caller could repeat the request.
 */
async function refuseUnread(front: Front, { headers, socket }: IncomingMessage): Promise<Answer | undefined> {
  const { contentType = JSON_TYPE } = negotiate(headers.accept)
  try {
    const caller = await front.callerChecks.callerOf(headers, socket.remoteAddress)
    if ('errors' in caller) return unreadAnswer(caller, contentType)
    const bytes = declaredBytes(headers)
    const refused =
      front.callerChecks.waiting(caller) ?? (bytes === undefined ? undefined : await front.callerChecks.chargeBody(caller, bytes))
    return refused && unreadAnswer(refused, contentType)
  } catch (error) {
    return refusal(error, contentType)
  }
}

/** A blocked caller has continued after a thousand refusals: the connection closes, so that its further bytes are not read. */
function unreadAnswer({ errors, isBlocked }: Refusal, contentType: string): Answer {
  const answer = requestErrors(errors, contentType)
  return isBlocked === true ? { ...answer, headers: { ...answer.headers, connection: 'close' } } : answer
}
