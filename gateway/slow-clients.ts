/**
 * Clients that send too slowly, too much before the body, or no HTTP: told what is wrong, as far as they can still be
 * told, and cut. Whoever dribbles one byte at a time holds a connection for `requestMaxMs` at most, with some kilobytes.
 */
import type { ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { TidemarkError } from '../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import { refusal } from './http.ts'

/** Options of node:http. */
export function timeouts(
  requestMaxMs: number,
): Required<Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'connectionsCheckingInterval'>> {
  return {
    requestTimeout: requestMaxMs,
    headersTimeout: Math.ceil(requestMaxMs / 3),
    // Node looks at connections in turns of this; what is late is late by one turn more.
    connectionsCheckingInterval: Math.max(50, Math.min(2_000, Math.floor(requestMaxMs / 10))),
  }
}

/** Answers on the bare socket, since there is no request to answer. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const { status, reason, sentence } = REFUSALS[error.code ?? ''] ?? MALFORMED
  const { body } = refusal(sentence, JSON_TYPE)
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`, () => socket.destroy())
}

type Refusal = { readonly status: number; readonly reason: string; readonly sentence: TidemarkError }

const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    sentence: new TidemarkError('REQUEST_TIMEOUT', 'the request took too long to arrive: send it again, at once'),
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    sentence: new TidemarkError('BAD_REQUEST', 'URL and headers have more than 16 KB: send the operation by POST, or by its id'),
  },
}

const MALFORMED: Refusal = {
  status: 400,
  reason: 'Bad Request',
  sentence: new TidemarkError('BAD_REQUEST', 'this is not HTTP: send a request of HTTP/1.1'),
}
