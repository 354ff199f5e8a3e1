/** Refusals of a WebSocket: an HTTP answer instead of the upgrade, or the reason of a close frame. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TidemarkError } from '../core/errors.ts'
import { JSON_TYPE } from './accept.ts'
import { RETRY_AFTER_SECONDS, refusal } from './http.ts'

/** The protocol's limit for the reason of a close frame, in bytes. */
const REASON_BYTES_MAX = 123

export function refuseUpgrade(duplex: Duplex, status: string): void {
  end(duplex, `HTTP/1.1 ${status}\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n`)
}

export function refuseFull(duplex: Duplex, error: TidemarkError): void {
  const { status, body } = refusal(error, JSON_TYPE)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'cache-control: no-store',
    `retry-after: ${RETRY_AFTER_SECONDS}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  end(duplex, `${head.join('\r\n')}\r\n\r\n${body.toString()}`)
}

/** Not left to the client, which may never close its side: no timeout of HTTP applies to a connection that was upgraded. */
function end(duplex: Duplex, answer: string): void {
  duplex.end(answer, () => duplex.destroy())
}

export function reasonOf(text: string): string {
  if (Buffer.byteLength(text) <= REASON_BYTES_MAX) return text
  return (
    Buffer.from(text)
      .subarray(0, REASON_BYTES_MAX - 3)
      .toString('utf8')
      .replace(/\uFFFD+$/, '') + '…'
  )
}
