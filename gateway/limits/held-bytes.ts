/**
 * Bounds the bytes that connections make the process hold before and after the work. These are messages and bodies that are incomplete or
 * wait to be parsed, and answers that their clients have not read. Other limits bound each of them, but not their sum: a thousand
 * connections may each stop one byte before the end.
 *
 * The process cannot know which connections will continue, so it refuses none of them. If all together hold too much, the connections that
 * hold most are cut until a quarter of the bound is free. A client that holds little is therefore never cut.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'

export type HeldBytes = {
  /** `cut` ends the connection. It is called once at most. */
  open(cut: () => void): Holder
}

export type Holder = {
  /** The number of bytes that are held now. */
  set(bytes: number): void
  close(): void
}

export type HeldLog = { warn(fields: object, message: string): void }

/** About a hundred of the largest calls of a recommender at once. */
const HELD_MAX = 134_217_728
const KEPT_SHARE = 0.75
/** A body of fewer bytes is not counted: the connection and its headers take as much. */
const SMALL_BODY = 16_384

export function makeHeldBytes(log: HeldLog, bytesMax: number = HELD_MAX): HeldBytes {
  const holders = new Set<{ bytes: number; cut: () => void }>()
  let total = 0

  function cutLargest(): void {
    let count = 0
    for (const holder of [...holders].sort((one, other) => other.bytes - one.bytes)) {
      if (total <= bytesMax * KEPT_SHARE) break
      holders.delete(holder)
      total -= holder.bytes
      count += 1
      holder.cut()
    }
    log.warn({ connections: count }, 'connections were cut: incomplete requests and unread answers held too much memory')
  }

  return {
    open(cut) {
      const holder = { bytes: 0, cut }
      holders.add(holder)
      return {
        set(bytes) {
          if (!holders.has(holder)) return
          total += bytes - holder.bytes
          holder.bytes = bytes
          if (total > bytesMax) cutLargest()
        },
        close() {
          if (holders.delete(holder)) total -= holder.bytes
        },
      }
    },
  }
}

const bodies = new WeakMap<ServerResponse, Holder>()

/** Counts a body by the length that its request declares, until `releaseBody`. */
export function holdBody(held: HeldBytes, request: IncomingMessage, response: ServerResponse, bodyBytesMax: number): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  const bytes = encoding === undefined ? Math.min(Number(length ?? 0), bodyBytesMax) : bodyBytesMax
  if (!(bytes > SMALL_BODY)) return
  // Destroying a complete request would not close its connection.
  const holder = held.open(() => request.socket.destroy())
  bodies.set(response, holder)
  response.once('close', () => holder.close())
  holder.set(bytes)
}

/** Called before the body is parsed. */
export function releaseBody(response: ServerResponse): void {
  bodies.get(response)?.close()
}

/** The unread bytes of a connection. Answers to pipelined requests wait in one connection. If it ends, they emit no `close` event. */
type Unread = { bytes: number; readonly holder: Holder }
const unreadOf = new WeakMap<Socket, Unread>()

/**
 * Called after an answer is written. If the network takes the answer at once, nothing is counted. This is usual for a small answer, unless
 * earlier ones are unread.
 */
export function holdUnread(held: HeldBytes, response: ServerResponse): void {
  if (response.writableLength > 0) response.once('close', countUnread(held, response))
}

/** Counts the bytes that are unread now, until the returned function is called. Bytes that the client reads meanwhile still count. */
export function countUnread(held: HeldBytes, response: ServerResponse): () => void {
  const { socket } = response.req
  if (socket.destroyed) return () => {}
  const bytes = response.writableLength
  const unread = unreadOf.get(socket) ?? openUnread(held, socket)
  const count = (more: number): void => unread.holder.set((unread.bytes += more))
  count(bytes)
  return () => count(-bytes)
}

function openUnread(held: HeldBytes, socket: Socket): Unread {
  const unread = { bytes: 0, holder: held.open(() => socket.destroy()) }
  unreadOf.set(socket, unread)
  socket.once('close', () => unread.holder.close())
  return unread
}

export type HeldSocket = {
  /** Bytes of a message that waits for its turn. */
  waiting(bytes: number, turn: Promise<void>): Promise<void>
  /** Bytes of answers that the client has not read. */
  unread(bytes: number): void
  close(): void
}

/** Counts the arrived bytes of an unfinished message, and the bytes that `waiting` and `unread` report. */
export function holdSocket(held: HeldBytes, socket: WebSocket, duplex: Duplex): HeldSocket {
  const holder = held.open(() => socket.terminate())
  let arriving = 0
  let waiting = 0
  let unread = 0
  const count = (): void => holder.set(Math.max(0, arriving) + waiting + unread)
  const whole = (data: { length?: number }): void => {
    arriving -= frameBytes(data.length ?? 0)
  }
  socket.on('message', whole).on('ping', whole).on('pong', whole)
  duplex.on('data', (chunk: Buffer) => {
    arriving += chunk.length
    count()
  })
  return {
    async waiting(bytes, turn) {
      waiting = bytes
      count()
      await turn
      waiting = 0
      count()
    },
    unread(bytes) {
      unread = bytes
      count()
    },
    close: holder.close,
  }
}

/** A masked frame of this payload (RFC 6455, section 5.2). */
function frameBytes(length: number): number {
  return length + 6 + (length < 126 ? 0 : length < 65_536 ? 2 : 8)
}
