/**
 * Cuts clients that send too slowly, send too many bytes before the body, or send no HTTP. They get an error if the socket still takes one.
 * A client that sends one byte at a time holds a connection for `requestMaxMs` at most, with some kilobytes.
 */
import type { ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { TidemarkError } from '../../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import { endWith, refusal, type Answer } from './answers.ts'

/** Options of node:http. */
export function timeouts(
  requestMaxMs: number,
): Required<Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'connectionsCheckingInterval'>> {
  return {
    requestTimeout: requestMaxMs,
    headersTimeout: Math.ceil(requestMaxMs / 3),
    // Node checks connections at this interval, so a timeout may come one interval late.
    connectionsCheckingInterval: Math.max(50, Math.min(2_000, Math.floor(requestMaxMs / 10))),
  }
}

/** Answers on the bare socket, since there is no request to answer. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  endWith(socket, REFUSALS[error.code ?? ''] ?? MALFORMED)
}

const REFUSALS: Readonly<Record<string, Answer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: refusal(
    new TidemarkError('REQUEST_TIMEOUT', 'the request took too long to arrive: send it again without a pause'),
    JSON_TYPE,
  ),
  HPE_HEADER_OVERFLOW: {
    ...refusal(
      new TidemarkError(
        'BAD_REQUEST',
        'URL and headers exceed 16 KB: send fewer headers, and send the operation in a POST body or by its id',
      ),
      JSON_TYPE,
    ),
    status: 431,
  },
}

const MALFORMED = refusal(new TidemarkError('BAD_REQUEST', 'this is not HTTP: send a request of HTTP/1.1'), JSON_TYPE)
