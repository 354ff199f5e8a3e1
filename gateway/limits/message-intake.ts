/**
 * Reads the messages of one WebSocket. It bounds the messages handled at a time and per second. Beyond the bound it stops reading the
 * socket, so that TCP makes the client wait. No message is refused: a page that sends thirty queries at once gets thirty answers, and a
 * flood of pings costs as much as a few.
 *
 * A message above LARGE_BODY waits for its turn of the event loop. The messages behind it wait too, so that their order is kept.
 *
 * An answer that the client has not read counts as under way. A client that does not read is therefore not read either.
 */
import type { RawData, WebSocket } from 'ws'
import type { Clock, Timer } from '../../core/clock.ts'
import { makeTokenBucket } from '../../core/token-bucket.ts'

/** Parsing a body or message of more characters takes some milliseconds. Each has its own turn of the event loop. */
export const LARGE_BODY = 65_536
/** Messages handled at a time. A browser has six requests under way to a host over HTTP/1.1. */
const UNDER_WAY_MAX = 32
/** Messages per second, and at once after a pause. A player reports every few seconds. A page sends some dozens when it opens. */
const PER_SECOND = 50
const AT_ONCE = 500
/** Milliseconds before the intake continues to read a socket that sent too fast. */
const WAIT_MS = 100

export type MessageIntake = {
  /** Checks again after work outside the intake has ended. */
  proceed(): void
  close(): void
}

/**
 * `handle` resolves when the message is processed. `nextTurn` resolves when a message of so many bytes may be parsed. `lasting()` counts
 * handled messages that are no longer work, such as open subscriptions.
 */
export function takeMessages(
  socket: WebSocket,
  clock: Clock,
  handle: (data: RawData) => Promise<void>,
  lasting: () => number,
  nextTurn: (bytes: number) => Promise<void>,
): MessageIntake {
  const bucket = makeTokenBucket(clock, PER_SECOND, AT_ONCE)
  /** Messages that `ws` had read before the pause: some tens of kilobytes at most. */
  let waiting: RawData[] = []
  /** The turn of the first waiting message. */
  let turn: 'none' | 'awaited' | 'come' = 'none'
  let handled = 0
  let timer: Timer | undefined
  let isClosed = false

  socket.on('message', (data: RawData) => {
    if (socket.readyState !== socket.OPEN) return
    waiting.push(data)
    proceed()
  })
  // The intake answers WebSocket pings: `ws` would answer any number of them.
  socket.on('ping', (data: Buffer) => {
    if (bucket.take(1)) socket.pong(data)
    else waitForTokens()
  })
  socket.on('pong', () => bucket.take(1) || waitForTokens())

  function proceed(): void {
    while (!isClosed && waiting.length > 0 && timer === undefined && turn !== 'awaited' && handled - lasting() < UNDER_WAY_MAX) {
      const bytes = sizeOf(waiting[0] as RawData)
      if (turn === 'none' && bytes > LARGE_BODY) {
        awaitTurn(bytes)
        break
      }
      if (!bucket.take(1)) return waitForTokens()
      turn = 'none'
      handled += 1
      void handle(waiting.shift() as RawData).finally(() => {
        handled -= 1
        proceed()
      })
    }
    const isFull = timer !== undefined || waiting.length > 0 || handled - lasting() >= UNDER_WAY_MAX
    // A closing socket is still read, because the close frame of the client comes after its messages.
    const mustPause = isFull && socket.readyState === socket.OPEN
    if (mustPause === socket.isPaused) return
    if (mustPause) socket.pause()
    else socket.resume()
  }

  function awaitTurn(bytes: number): void {
    turn = 'awaited'
    void nextTurn(bytes).then(() => {
      turn = 'come'
      proceed()
    })
  }

  function waitForTokens(): void {
    if (isClosed) return
    timer ??= clock.after(WAIT_MS, () => {
      timer = undefined
      proceed()
    })
    if (!socket.isPaused) socket.pause()
  }

  return {
    proceed,
    close() {
      isClosed = true
      timer?.cancel()
      waiting = []
    },
  }
}

function sizeOf(data: RawData): number {
  return Array.isArray(data) ? data.reduce((sum, { length }) => sum + length, 0) : data.byteLength
}
