/**
 * How much does our gateway cost compared with others? The feed query (50 items, 6 fields, 200 loader lookups), with the same
 * resolvers for all, and all subgraphs in the gateway's process. Each gateway has its own process:
 *
 *   gateway      our whole gateway: front, viewer, metrics, engine
 *   ceiling      bare node:http and graphql-jit on one merged schema
 *   hive-native  Hive gateway with the native planner, its fetches compiled by graphql-jit as ours are
 *   apollo       @apollo/gateway with LocalGraphQLDataSource on Apollo Server
 *
 *   npm run bench -- gateway [--quick]
 *
 * The other gateways are in the package bench/gateway/peers, which is installed if it is missing.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Rounds } from './feed-load.ts'
import { medianOf } from '../support/quantile.ts'
import { figuresOf, loadInTurn } from './feed-load.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const CEILING_RATIO_MIN = 0.75
/** Least multiples of our CPU per request. */
const HIVE_RATIO_MIN = 5
const APOLLO_RATIO_MIN = 10

const KINDS = ['ceiling', 'gateway', 'hive-native', 'apollo'] as const
type Kind = (typeof KINDS)[number]

/** `quick`: fewer rounds, within 45 seconds. */
export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  installOthers(progress)
  const rounds = await loadInTurn(KINDS, { rounds: quick ? 24 : 150, progress })
  return [...figuresOf(KINDS, rounds), ...ratiosOf(rounds)]
}

function ratiosOf(rounds: Rounds<Kind>): Measure[] {
  const cpuOf = (kind: Kind) => medianOf(rounds, (round) => round[kind].cpuMicros / round.gateway.cpuMicros)
  const rpsOf = (kind: Kind) => medianOf(rounds, (round) => round.gateway.rps / round[kind].rps)
  return [
    { metric: 'ours : ceiling, requests per CPU second', value: cpuOf('ceiling'), unit: 'ratio', target: CEILING_RATIO_MIN },
    { metric: 'ours : ceiling, requests per second', value: rpsOf('ceiling'), unit: 'ratio' },
    { metric: 'Hive : ours, CPU per request', value: cpuOf('hive-native'), unit: 'ratio', target: HIVE_RATIO_MIN },
    { metric: 'ours : Hive, requests per second', value: rpsOf('hive-native'), unit: 'ratio' },
    { metric: 'Apollo : ours, CPU per request', value: cpuOf('apollo'), unit: 'ratio', target: APOLLO_RATIO_MIN },
    { metric: 'ours : Apollo, requests per second', value: rpsOf('apollo'), unit: 'ratio' },
  ]
}

function installOthers(progress: (text: string) => void): void {
  const folder = join(import.meta.dirname, 'peers')
  if (existsSync(join(folder, 'node_modules', '@apollo', 'gateway'))) return
  progress('gateway: installing the other gateways (npm ci in bench/gateway/peers)')
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] })
  if (status !== 0)
    throw new Error('the other gateways are not installed: run "npm ci --ignore-scripts" in bench/gateway/peers and read its error')
}
