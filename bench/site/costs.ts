/**
 * The CPU time of each kind of call. Each kind runs alone for some seconds. The CPU time of quiet processes is subtracted, because
 * Kafka, timers and subscriptions cost the same at any rate.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Measure } from '../support/report.ts'
import { KIND_NAMES, type KindName } from './operations.ts'
import { runAt, type Run } from './run.ts'
import type { RunningSite } from './running-site.ts'
import { watchCpu, type Spent } from './spent.ts'

/** Seconds per call. */
export type Cost = { kind: KindName; gateway: number; servers: number; jobs: number }

const SECONDS = 5
const GROUPS = {
  gateway: ['gateways'],
  servers: ['redis', 'kafka', 'mariadb', 'memcached'],
  jobs: ['job history', 'job thumbup', 'job feed-existence', 'job feed'],
}
/** Calls a second, so that no kind alone fills a core. */
const RATES: Record<KindName, number> = {
  report: 800,
  list: 200,
  unseen: 150,
  issued: 400,
  history: 200,
  home: 40,
  like: 300,
  follow: 80,
  publish: 80,
}

export async function costsOf(site: RunningSite, progress: (text: string) => void): Promise<Cost[]> {
  const watched = watchCpu(site.parts)
  await sleep(SECONDS * 1_000)
  const quiet = watched()
  const costs: Cost[] = []
  for (const kind of KIND_NAMES) {
    const { answered, spent } = await runAt(site, RATES[kind], SECONDS, kind)
    const of = (group: keyof typeof GROUPS): number =>
      (usedBy(group, spent) - (usedBy(group, quiet) * spent.seconds) / quiet.seconds) / answered.length
    const cost = { kind, gateway: of('gateway'), servers: of('servers'), jobs: of('jobs') }
    costs.push(cost)
    progress(`${kind} alone: ${microseconds(cost.gateway)} µs of the gateway per call`)
  }
  return costs
}

function usedBy(group: keyof typeof GROUPS, { parts }: Spent): number {
  return GROUPS[group].reduce((sum, name) => sum + (parts.get(name) ?? 0), 0)
}

/** The parts of the gateway's time that each kind takes in the held mix, if calls cost as much as alone. */
export function costMeasures({ answered }: Run, costs: readonly Cost[]): Measure[] {
  const used = costs.map((cost) => cost.gateway * answered.filter(({ kind }) => kind === cost.kind).length)
  const all = used.reduce((sum, each) => sum + each, 0)
  return costs.map(({ kind, gateway, servers, jobs }, at) => ({
    metric: `CPU of the gateway for ${kind}`,
    value: (100 * (used[at] as number)) / all,
    unit: `% of its calls; alone ${microseconds(gateway)} µs per call, servers ${microseconds(servers)}, jobs ${microseconds(jobs)}`,
  }))
}

function microseconds(seconds: number): number {
  return Math.round(seconds * 1e6)
}
