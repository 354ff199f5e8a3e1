/** The messages of one WebSocket: how they are received, sent and kept alive. */
import { CloseCode } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { systemClock } from '../../../core/clock.ts'
import { takeMessages, type MessageIntake } from '../../limits/message-intake.ts'
import { callerKey } from '../../request/caller.ts'
import type { Front } from '../../request/front.ts'
import { shapeMistake } from '../body.ts'
import { withText } from '../parameters.ts'
import { TRY_AGAIN_LATER } from './authentication.ts'
import { withAdvice } from './refusals.ts'
import { NOBODY, type ClientSocket } from './sockets.ts'

/** Bytes of answers that may wait for a client to read them. */
const UNREAD_BYTES_MAX = 16_777_216
/** Characters of the first message, which is kept as long as the socket. Node's limit for headers is the same. */
const INIT_LENGTH_MAX = 16_384

/** The library's reason. */
const INVALID = 'Invalid message received'

/** `receive`: hands a message to the protocol. */
export function receiveMessages(front: Front, extra: ClientSocket, receive: (message: string) => Promise<void>): MessageIntake {
  const { socket } = extra
  const handle = (data: RawData): Promise<void> => {
    const message = textOf(data)
    extra.messageLength = message.length
    if (extra.caller === NOBODY && message.length > INIT_LENGTH_MAX) {
      socket.close(CloseCode.BadRequest, `the first message may have ${INIT_LENGTH_MAX} characters`)
      return Promise.resolve()
    }
    return receive(withText(message)).catch((error: unknown) => {
      if (isForbiddenMessage(error)) return socket.close(CloseCode.BadRequest, withAdvice(CloseCode.BadRequest, INVALID))
      front.log.error({ err: error }, 'a WebSocket message could not be handled')
      socket.close(CloseCode.InternalServerError, 'internal error')
    })
  }
  const nextTurn = (bytes: number) => extra.held.waiting(bytes, front.bodyTurns(callerKey(extra.caller), socket))
  return takeMessages(socket, systemClock, handle, () => extra.streams, nextTurn)
}

/** A message that would take long to parse becomes an empty text. That is no message of the protocol, so the socket is closed. */
function textOf(data: RawData): string {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)
  return shapeMistake(bytes) === undefined ? bytes.toString() : ''
}

/** Only servers send `next`, `error` and `connection_ack`. The library throws the same error for them as for its own mistakes. */
function isForbiddenMessage(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Unexpected message of type')
}

/** Resolves when the message is handed to the network, so that a slow reader slows its own source. */
export function sendMessage({ socket, held }: ClientSocket, message: string): Promise<void> {
  return new Promise((resolve) => {
    // An error here means that the socket is closing; its `close` event handles the rest.
    if (socket.readyState !== socket.OPEN) return resolve()
    socket.send(message, () => {
      held.unread(socket.bufferedAmount)
      resolve()
    })
    const unreadBytes = socket.bufferedAmount
    held.unread(unreadBytes)
    // If the client does not read this either, `ws` cuts the connection half a minute later.
    if (unreadBytes > UNREAD_BYTES_MAX)
      socket.close(TRY_AGAIN_LATER, `more than ${unreadBytes} bytes of answers are unread: read faster, or ask for less at a time`)
  })
}

/** Pings the client, and terminates a socket that did not answer in time. Returns the function that stops it. */
export function keepAlive(socket: WebSocket, pingEveryMs: number): () => void {
  let answered = true
  socket.on('pong', () => (answered = true))
  const timer = setInterval(() => {
    // The answers of a client are unknown while its socket is not read.
    if (!answered && !socket.isPaused) return socket.terminate()
    answered = false
    socket.ping()
  }, pingEveryMs)
  return () => clearInterval(timer)
}
