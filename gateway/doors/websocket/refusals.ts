/** Refusals of a WebSocket: an HTTP answer instead of the upgrade, or the reason of a close frame. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { TidemarkError } from '../../../core/errors.ts'
import { JSON_TYPE } from '../accept.ts'
import { RETRY_AFTER_SECONDS, endWith, refusal } from '../answers.ts'
import { badRequest } from '../request-errors.ts'

/** The protocol's limit for the reason of a close frame, in bytes. */
const REASON_BYTES_MAX = 123

export function refuseFull(duplex: Duplex, error: TidemarkError): void {
  endWith(duplex, { ...refusal(error, JSON_TYPE), headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } })
}

/** Refuses an upgrade that is not a WebSocket handshake. `error` is from the library. */
export function refuseHandshake(error: Error, duplex: Duplex, { method = '' }: IncomingMessage): void {
  if (method !== 'GET')
    return endWith(duplex, { ...badRequest(405, `a WebSocket is not opened by ${method}: use GET`), headers: { allow: 'GET' } })
  const refused = badRequest(400, `this is not a WebSocket handshake (${error.message}): use a WebSocket client of version 13`)
  endWith(duplex, { ...refused, headers: { 'sec-websocket-version': '13' } })
}

/** The library closes a socket on frames that break the protocol or a limit, and gives no reason. */
export function makeSocketClass(messageBytesMax: number): typeof WebSocket {
  const reasons: Readonly<Record<number, string>> = {
    1002: 'the frame breaks the WebSocket protocol: use a WebSocket client of version 13',
    1007: 'the message is not UTF-8: send JSON in UTF-8',
    1008: 'the message has too many fragments: send it in one frame',
    1009: `the message has more than ${messageBytesMax} bytes: send less at a time, or raise server.bodyBytesMax`,
  }
  return class extends WebSocket {
    override close(code?: number, reason: string | Buffer | undefined = code === undefined ? undefined : reasons[code]): void {
      super.close(code, reason)
    }
  }
}

/** The protocol names a reason for each of its close codes, but no remedy. */
const ADVICE: Readonly<Record<number, string>> = {
  [CloseCode.BadRequest]: 'send JSON with "type", as graphql-transport-ws defines it',
  [CloseCode.Unauthorized]: 'send connection_init, and wait for connection_ack',
  [CloseCode.SubprotocolNotAcceptable]: 'offer graphql-transport-ws, as the client graphql-ws does',
  [CloseCode.ConnectionInitialisationTimeout]: 'send connection_init right after the upgrade',
  [CloseCode.SubscriberAlreadyExists]: 'give each open operation its own id',
  [CloseCode.TooManyInitialisationRequests]: 'send connection_init once per socket',
}

export function withAdvice(code: number | undefined, reason: string | undefined): string | undefined {
  const advice = ADVICE[code ?? 0]
  return advice === undefined || reason === undefined ? reason : `${reasonOf(reason, REASON_BYTES_MAX - advice.length - 2)}: ${advice}`
}

export function reasonOf(text: string, bytesMax = REASON_BYTES_MAX): string {
  if (Buffer.byteLength(text) <= bytesMax) return text
  return (
    Buffer.from(text)
      .subarray(0, bytesMax - 3)
      .toString('utf8')
      .replace(/\uFFFD+$/, '') + '…'
  )
}
