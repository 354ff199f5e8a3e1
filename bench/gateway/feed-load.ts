/**
 * Servers of the feed benchmarks, each in its own process, loaded in turn.
 *
 * A ratio of requests per second is valid only if both servers were busy all the time. On a shared machine they are not: a
 * starved ceiling once made the engine look faster. The speed of such a machine also changes by a third within seconds. The
 * servers are therefore loaded in turn in many rounds of a fraction of a second, only adjacent rounds are compared, and the
 * median counts. Two figures check the result: `busy` is the share of a core that the server had, and waiting does not change
 * the ratio of CPU time per request.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { isDeepStrictEqual } from 'node:util'
import { SHIPPED_ENVIRONMENT, SHIPPED_OPTIONS } from '../../harness/deployment/role.ts'
import type { FeedServerKind, FeedServerMessage } from './feed-child.ts'
import { FEED_QUERY } from './feed-graph.ts'
import { runLoad } from '../support/load.ts'
import type { Measure } from '../support/report.ts'
import { medianOf } from '../support/quantile.ts'

const CONNECTIONS = 32
const ROUND_MS = 250
/** V8 optimizes the code of a server for its first 10,000 requests or more. */
const WARM_UP_MS = 4_000

export type Round = { rps: number; cpuMicros: number; busy: number }
export type Rounds<Kind extends FeedServerKind> = readonly Record<Kind, Round>[]
type Server = { kind: FeedServerKind; url: string; usage(): Promise<number>; stop(): void }

export type LoadOptions = {
  /** Rounds of load per server. At least 1. */
  rounds: number
  progress(text: string): void
}

/** Starts one server per kind, compares their answers, warms up, loads in turn, stops them. */
export async function loadInTurn<Kind extends FeedServerKind>(kinds: readonly Kind[], options: LoadOptions): Promise<Rounds<Kind>> {
  const { rounds, progress } = options
  const servers = await startAll(kinds)
  try {
    await expectSameAnswers(servers)
    progress('feed: warming up')
    for (const server of servers) await load(server, WARM_UP_MS)
    const measured: Record<Kind, Round>[] = []
    for (let round = 0; round < rounds; round += 1) {
      if (round % 10 === 0) progress(`feed: round ${round + 1} of ${rounds}`)
      const one: Partial<Record<FeedServerKind, Round>> = {}
      for (const server of servers) one[server.kind] = await load(server, ROUND_MS)
      measured.push(one as Record<Kind, Round>)
    }
    return measured
  } finally {
    for (const server of servers) server.stop()
  }
}

/** If one server does not start, the others are stopped. */
async function startAll(kinds: readonly FeedServerKind[]): Promise<Server[]> {
  const started = await Promise.allSettled(kinds.map(startServer))
  const servers = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failed = started.find((outcome) => outcome.status === 'rejected')
  if (failed === undefined) return servers
  for (const server of servers) server.stop()
  throw failed.reason
}

async function startServer(kind: FeedServerKind): Promise<Server> {
  const isOurs = kind === 'ceiling' || kind === 'engine' || kind === 'gateway'
  const child = fork(new URL(isOurs ? 'feed-server.ts' : 'peers/feed.mjs', import.meta.url), [kind], {
    env: { ...(isOurs ? SHIPPED_ENVIRONMENT : {}), ...process.env, NODE_ENV: 'production' },
    execArgv: isOurs ? SHIPPED_OPTIONS : [],
  })
  const url = await nextMessage(child, 'listening')
  const usage = async (): Promise<number> => {
    child.send('usage')
    return (await nextMessage(child, 'usage')).cpuMicros
  }
  // SIGTERM is not enough: some servers catch it and stay.
  return { kind, url: url.url, usage, stop: () => child.kill('SIGKILL') }
}

function nextMessage<Kind extends FeedServerMessage['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<FeedServerMessage, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`a server of the benchmark ended with code ${code}`))
    const listen = (message: FeedServerMessage) => {
      if (message.kind !== kind) return
      child.off('message', listen).off('exit', end)
      resolve(message as Extract<FeedServerMessage, { kind: Kind }>)
    }
    child.on('message', listen).once('exit', end)
  })
}

const BODY = JSON.stringify({ query: FEED_QUERY })
const HEADERS = { 'content-type': 'application/json' }

/** Wrong answers would make the comparison invalid. */
async function expectSameAnswers(servers: readonly Server[]): Promise<void> {
  const [first, ...others] = await Promise.all(
    servers.map(async ({ kind, url }) => {
      const response = await fetch(url, { method: 'POST', headers: HEADERS, body: BODY })
      return { kind, answer: await response.json() }
    }),
  )
  for (const { kind, answer } of others) {
    if (!isDeepStrictEqual(answer, first?.answer))
      throw new Error(`the answer of ${kind} differs from that of ${first?.kind}: ${JSON.stringify(answer).slice(0, 200)}`)
  }
}

async function load({ url, usage }: Server, durationMs: number): Promise<Round> {
  const cpuBefore = await usage()
  const { requests, seconds, perSecond } = await runLoad({ url, connections: CONNECTIONS, durationMs, headers: HEADERS, body: () => BODY })
  const cpuMicros = (await usage()) - cpuBefore
  return { rps: perSecond, cpuMicros: cpuMicros / requests, busy: cpuMicros / (seconds * 1_000_000) }
}

/** The figures of each kind, without targets. */
export function figuresOf<Kind extends FeedServerKind>(kinds: readonly Kind[], rounds: Rounds<Kind>): Measure[] {
  return kinds.flatMap((kind): Measure[] => [
    { metric: `feed: ${kind} requests`, value: medianOf(rounds, (round) => round[kind].rps), unit: 'per second' },
    { metric: `feed: ${kind} CPU`, value: medianOf(rounds, (round) => round[kind].cpuMicros), unit: 'µs per request' },
    { metric: `feed: ${kind} busy`, value: medianOf(rounds, (round) => round[kind].busy), unit: 'of a core' },
  ])
}
