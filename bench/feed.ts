/**
 * What does federation cost? The feed query (50 items, 6 fields, 200 loader lookups) over four subgraphs in one process,
 * compared with its ceiling: bare node:http and graphql-jit on the same resolvers as one merged schema.
 *
 *   node bench/feed.ts [--quick] [--json]
 *
 * engine: bare node:http and our engine. gateway: the whole front around it. Each server is a process of its own.
 *
 * A ratio of requests per second means something only if both servers were busy all the time. On a machine that others
 * use they are not: a starved ceiling once made the engine look faster than it. So the servers are loaded in turn in many
 * short rounds, only rounds next to each other are compared, the median counts, and every figure stands beside its check:
 * `busy` is the share of a core the server had, and the ratio of CPU time per request, which waiting does not change,
 * must reach the target as well.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import autocannon from 'autocannon'
import { FEED_QUERY } from './feed-graph.ts'
import type { FeedServerKind, FeedServerMessage } from './feed-server.ts'
import type { BenchOptions, Measure } from './report.ts'
import { resultOf, tableOf, versions } from './report.ts'

/** The least parts of the ceiling that are acceptable. */
const ENGINE_RATIO_MIN = 0.5
const GATEWAY_RATIO_MIN = 0.5
const CONNECTIONS = 32
const KINDS: readonly FeedServerKind[] = ['ceiling', 'engine', 'gateway']

type Round = { rps: number; cpuMicros: number; busy: number }
type Server = { kind: FeedServerKind; url: string; usage(): Promise<number>; stop(): void }

/** `quick`: fewer and shorter rounds, done within 45 seconds. */
export async function runFeedBench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const [rounds, seconds] = quick ? [5, 1.5] : [9, 4]
  const servers = await Promise.all(KINDS.map(startServer))
  try {
    await expectSameAnswers(servers)
    progress('feed: warming up')
    for (const server of servers) await load(server, 2)
    const measured: Record<FeedServerKind, Round>[] = []
    for (let round = 0; round < rounds; round += 1) {
      progress(`feed: round ${round + 1} of ${rounds}`)
      const one: Partial<Record<FeedServerKind, Round>> = {}
      for (const server of servers) one[server.kind] = await load(server, seconds)
      measured.push(one as Record<FeedServerKind, Round>)
    }
    return measuresOf(measured)
  } finally {
    for (const server of servers) server.stop()
  }
}

async function startServer(kind: FeedServerKind): Promise<Server> {
  const child = fork(new URL('feed-server.ts', import.meta.url), [kind], { env: { ...process.env, NODE_ENV: 'production' } })
  const url = await nextMessage(child, 'listening')
  const usage = async (): Promise<number> => {
    child.send('usage')
    return (await nextMessage(child, 'usage')).cpuMicros
  }
  return { kind, url: url.url, usage, stop: () => child.kill() }
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

/** A fast wrong answer is worth nothing. */
async function expectSameAnswers(servers: readonly Server[]): Promise<void> {
  const answers = await Promise.all(
    servers.map(async ({ url }) => (await fetch(url, { method: 'POST', headers: HEADERS, body: BODY })).text()),
  )
  for (const [index, answer] of answers.entries()) {
    if (answer !== answers[0])
      throw new Error(`${servers[index]?.kind} answers otherwise than ${servers[0]?.kind}: ${answer.slice(0, 200)}`)
  }
}

async function load(server: Server, seconds: number): Promise<Round> {
  const cpuBefore = await server.usage()
  const startedAt = performance.now()
  const { requests, non2xx, errors } = await autocannon({
    url: server.url,
    method: 'POST',
    headers: HEADERS,
    body: BODY,
    connections: CONNECTIONS,
    duration: seconds,
  })
  const wallMs = performance.now() - startedAt
  const cpuMicros = (await server.usage()) - cpuBefore
  if (non2xx + errors > 0) throw new Error(`${server.kind}: ${non2xx} answers were not 200, ${errors} connections failed`)
  return { rps: requests.total / (wallMs / 1_000), cpuMicros: cpuMicros / requests.total, busy: cpuMicros / (wallMs * 1_000) }
}

function measuresOf(rounds: readonly Record<FeedServerKind, Round>[]): Measure[] {
  const measured = KINDS.flatMap((kind): Measure[] => [
    figure(`feed: ${kind} requests`, median(rounds.map((round) => round[kind].rps)), 'per second'),
    figure(`feed: ${kind} CPU`, median(rounds.map((round) => round[kind].cpuMicros)), 'µs per request'),
    figure(`feed: ${kind} busy`, median(rounds.map((round) => round[kind].busy)), 'of a core'),
  ])
  return [...measured, ...ratios('engine', rounds, ENGINE_RATIO_MIN), ...ratios('gateway', rounds, GATEWAY_RATIO_MIN)]
}

function ratios(kind: FeedServerKind, rounds: readonly Record<FeedServerKind, Round>[], target: number): Measure[] {
  const byRequests = median(rounds.map((round) => round[kind].rps / round.ceiling.rps))
  const byCpu = median(rounds.map((round) => round.ceiling.cpuMicros / round[kind].cpuMicros))
  return [
    { metric: `feed: ${kind} ratio`, value: byRequests, unit: 'of ceiling, requests per second', target },
    { metric: `feed: ${kind} ratio by CPU`, value: byCpu, unit: 'of ceiling, requests per CPU second', target },
  ]
}

function figure(metric: string, value: number, unit: string): Measure {
  return { metric, value, unit }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const measures = await runFeedBench({ quick: process.argv.includes('--quick'), progress: (text) => process.stderr.write(`${text}\n`) })
  const results = measures.map(resultOf)
  const report = { name: 'feed', date: new Date().toISOString(), versions: versions(), results }
  console.log(process.argv.includes('--json') ? JSON.stringify(report) : tableOf(results))
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
}
