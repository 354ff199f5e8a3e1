/**
 * A pipelined connection to Memcached: requests leave in the order of the calls, and replies come in the same order. Requests of one turn of
 * the event loop leave in one write. It connects at the first request, and again at the first one after its end.
 */
import { connect, type Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import { makeReplyParser, type ReplyHandler } from './reply-parser.ts'

/** A request that waits for replies. */
export type Pending = {
  onValue?: ReplyHandler['onValue']
  /** True: this was its last reply. Throws if the line does not belong to the protocol. */
  onLine(line: string): boolean
  reject(error: Error): void
}

export type Connection = {
  /** Without `pending`: no reply comes. */
  send(parts: readonly (string | Buffer)[], pending?: Pending): void
  /** The number of ended connections. */
  ended(): number
  /** The number of complete answers. */
  answers(): number
  /** Whether any byte came, of an answer or not. */
  hasReceived(): boolean
  /** Bytes that wait for the network. */
  waitingBytes(): number
  /** Ends the connection at once. Pending requests reject. */
  reset(error: Error): void
  stop(): Promise<void>
}

/** Milliseconds that the last writes may take when the connection is closed for good. */
const CLOSE_MS = 1_000

/** `address`: `host:port`, IPv6 in brackets. */
export function makeConnection(clock: Clock, address: string): Connection {
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(address) ?? []
  let socket: Socket | undefined
  let ended = 0
  let answers = 0
  let hasReceived = false
  let pending: Pending[] = []
  let firstPending = 0
  let outgoing: (string | Buffer)[] = []
  let isStopped = false

  function flush(): void {
    const parts = outgoing
    outgoing = []
    if (socket === undefined || parts.length === 0) return
    socket.write(joined(parts))
  }

  function open(): Socket {
    if (isStopped) throw new Error(`the connection to ${address} is closed`)
    const opened = connect({ host: host.replace(/^\[|\]$/g, ''), port: Number(port), noDelay: true, keepAlive: true })
    const end = (error: Error): void => {
      if (socket === opened) reset(error)
    }
    const parse = makeReplyParser({ onValue, onLine })
    opened.on('data', (chunk: Buffer) => {
      if (socket !== opened) return
      hasReceived = true
      try {
        parse(chunk)
      } catch (error) {
        end(error as Error)
      }
    })
    opened.on('error', end)
    opened.on('close', () => end(new Error(`${address} closed the connection`)))
    return opened
  }

  function onValue(...reply: Parameters<ReplyHandler['onValue']>): void {
    const request = pending[firstPending]
    if (request?.onValue === undefined) throw new Error(`${address} sent a value, and none was requested`)
    request.onValue(...reply)
  }

  function onLine(line: string): void {
    const request = pending[firstPending]
    if (request === undefined) throw new Error(`${address} sent "${line.slice(0, 60)}" without a request`)
    if (!request.onLine(line)) return
    answers++
    firstPending++
    if (firstPending < pending.length) return
    pending = []
    firstPending = 0
  }

  function reset(error: Error): void {
    const [last, waiting] = [socket, pending.slice(firstPending)]
    socket = undefined
    pending = []
    firstPending = 0
    outgoing = []
    ended++
    last?.destroy()
    for (const request of waiting) request.reject(error)
  }

  return {
    send(parts, request) {
      socket ??= open()
      if (outgoing.length === 0) queueMicrotask(flush)
      outgoing.push(...parts)
      if (request !== undefined) pending.push(request)
    },
    ended: () => ended,
    answers: () => answers,
    hasReceived: () => hasReceived,
    waitingBytes: () => socket?.writableLength ?? 0,
    reset,
    async stop() {
      isStopped = true
      const last = socket
      if (last === undefined) return
      flush()
      await new Promise<void>((resolve) => {
        const late = clock.after(CLOSE_MS, resolve)
        last.once('close', () => {
          late.cancel()
          resolve()
        })
        last.destroySoon()
      })
      reset(new Error(`the connection to ${address} is closed`))
    },
  }
}

/** One buffer of all parts. Text is ASCII. */
function joined(parts: readonly (string | Buffer)[]): Buffer {
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    if (typeof part === 'string') bytes.write(part, at, 'latin1')
    else bytes.set(part, at)
    at += part.length
  }
  return bytes
}
