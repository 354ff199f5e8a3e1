/**
 * How much does federation cost? The feed query (50 items, 6 fields, 200 loader lookups) over four subgraphs in one process,
 * compared with its ceiling: bare node:http and graphql-jit on the same resolvers as one merged schema.
 *
 *   node bench/gateway/feed.ts [--quick] [--json]
 *
 * engine: bare node:http and our engine. gateway: the whole front around it. feed-load.ts loads them. Both ratios, by
 * requests per second and by CPU time per request, must reach the target.
 */
import { pathToFileURL } from 'node:url'
import type { Rounds } from './feed-load.ts'
import { medianOf } from '../support/quantile.ts'
import { figuresOf, loadInTurn } from './feed-load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { resultOf, tableOf, versions } from '../support/report.ts'

/** The least acceptable shares of the ceiling. */
const ENGINE_RATIO_MIN = 0.5
const GATEWAY_RATIO_MIN = 0.5

const KINDS = ['ceiling', 'engine', 'gateway'] as const
type Kind = (typeof KINDS)[number]

/** `quick`: fewer rounds, within 45 seconds. */
export async function runFeedBench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const rounds = await loadInTurn(KINDS, { rounds: quick ? 30 : 150, progress })
  return [...figuresOf(KINDS, rounds), ...ratios('engine', rounds, ENGINE_RATIO_MIN), ...ratios('gateway', rounds, GATEWAY_RATIO_MIN)]
}

function ratios(kind: Kind, rounds: Rounds<Kind>, target: number): Measure[] {
  const byRequests = medianOf(rounds, (round) => round[kind].rps / round.ceiling.rps)
  const byCpu = medianOf(rounds, (round) => round.ceiling.cpuMicros / round[kind].cpuMicros)
  return [
    { metric: `feed: ${kind} ratio`, value: byRequests, unit: 'of ceiling, requests per second', target },
    { metric: `feed: ${kind} ratio by CPU`, value: byCpu, unit: 'of ceiling, requests per CPU second', target },
  ]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const measures = await runFeedBench({ quick: process.argv.includes('--quick'), progress: (text) => process.stderr.write(`${text}\n`) })
  const results = measures.map(resultOf)
  const report = { name: 'feed', date: new Date().toISOString(), versions: versions(), results }
  console.log(process.argv.includes('--json') ? JSON.stringify(report) : tableOf(results))
  process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
}
