/**
 * A closed-loop load on one HTTP address: keep-alive connections, each with one request in flight. It implements only the
 * needed part of HTTP/1.1 over bare sockets. That keeps it cheap, because it shares the machine's cores with the service.
 */
import { connect, type Socket } from 'node:net'
import { quantileOf } from './quantile.ts'

export type LoadOptions = {
  url: string
  connections: number
  /** Milliseconds. */
  durationMs: number
  /** A function is called before each request, right after `body`. */
  headers?: Record<string, string> | (() => Record<string, string>)
  /** The body of the next request; undefined ends the load early. */
  body(): string | Buffer | undefined
  /** Checks the body of every answer; throws if it is wrong. */
  check?(body: string): void
}

export type LoadReport = { requests: number; seconds: number; perSecond: number; p50Ms: number; p95Ms: number; p99Ms: number }

const HEADER_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const latencies: number[] = []
  const begun = performance.now()
  const until = begun + options.durationMs
  await Promise.all(Array.from({ length: options.connections }, () => runConnection(options, until, latencies)))
  const seconds = (performance.now() - begun) / 1_000
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => quantileOf(latencies, share)
  return { requests: latencies.length, seconds, perSecond: latencies.length / seconds, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) }
}

function runConnection(options: LoadOptions, until: number, latencies: number[]): Promise<void> {
  const { hostname, port, pathname } = new URL(options.url)
  const basic = { host: `${hostname}:${port}`, 'content-type': 'application/json', accept: 'application/json' }
  const headOf = (more: Record<string, string> = {}): string => {
    const headers = Object.entries({ ...basic, ...more })
    return `POST ${pathname} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}content-length: `
  }
  const { headers } = options
  const head = typeof headers === 'function' ? '' : headOf(headers)
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname)
    let received: Buffer = Buffer.alloc(0)
    let sentAt = 0

    function send(): void {
      const body = options.body()
      if (body === undefined) {
        socket.end()
        return
      }
      sentAt = performance.now()
      socket.cork()
      socket.write(`${typeof headers === 'function' ? headOf(headers()) : head}${Buffer.byteLength(body)}\r\n\r\n`)
      socket.write(body)
      socket.uncork()
    }

    socket.setNoDelay(true)
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const answer = readAnswer(received)
      if (answer === undefined) return
      received = Buffer.alloc(0)
      const now = performance.now()
      latencies.push(now - sentAt)
      try {
        if (answer.status !== 200) throw new Error(`${options.url} answered ${answer.status}: ${answer.body.slice(0, 200)}`)
        options.check?.(answer.body)
      } catch (error) {
        reject(error)
        socket.destroy()
        return
      }
      if (now < until) send()
      else socket.end()
    })
  })
}

/** The answer if it is complete. A chunked body is returned undecoded, with the lengths of its chunks. */
function readAnswer(received: Buffer): { status: number; body: string } | undefined {
  const end = received.indexOf(HEADER_END)
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const bodyStart = end + HEADER_END.length
  const status = Number(head.slice(9, 12))
  const length = /content-length: (\d+)/i.exec(head)
  if (length === null) {
    if (!/transfer-encoding: chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`)
    return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? { status, body: received.toString('utf8', bodyStart) } : undefined
  }
  if (received.length < bodyStart + Number(length[1])) return undefined
  return { status, body: received.toString('utf8', bodyStart, bodyStart + Number(length[1])) }
}
