/** A closed-loop load on one HTTP address: keep-alive connections, each with one request in flight. */
import { openConnection } from './connection.ts'
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

async function runConnection({ url, headers = {}, body, check }: LoadOptions, until: number, latencies: number[]): Promise<void> {
  const connection = openConnection(url)
  try {
    let now = performance.now()
    do {
      const next = body()
      if (next === undefined) return
      const sentHeaders = typeof headers === 'function' ? headers() : headers
      const sentAt = performance.now()
      const answer = await connection.call(sentHeaders, next)
      now = performance.now()
      latencies.push(now - sentAt)
      if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${answer.body.slice(0, 200)}`)
      check?.(answer.body)
    } while (now < until)
  } finally {
    connection.close()
  }
}
