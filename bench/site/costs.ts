/** The CPU time of each kind of call. Each kind runs alone for some seconds, at a rate that keeps the gateway about as busy as it was. */
import { quantileOf } from '../support/quantile.ts'
import type { Measure } from '../support/report.ts'
import { KIND_NAMES, type KindName } from './operations.ts'
import { runAt, type Run } from './run.ts'
import type { RunningSite } from './running-site.ts'

/** Seconds per call. */
export type Cost = { kind: KindName; gateway: number; servers: number }

const SECONDS = 5
/** Of each second that the gateway works on calls. */
const BUSY_MS = 400
const SERVERS = ['redis', 'kafka', 'mariadb', 'memcached']

export async function costsOf(site: RunningSite, held: Run, progress: (text: string) => void): Promise<Cost[]> {
  const costs: Cost[] = []
  for (const kind of KIND_NAMES) {
    progress(`${kind} alone`)
    const ms = held.answered.filter((each) => each.kind === kind).map((each) => each.ms)
    const perSecond = Math.max(
      10,
      BUSY_MS /
        quantileOf(
          ms.toSorted((a, b) => a - b),
          0.5,
        ),
    )
    const { answered, spent } = await runAt(site, perSecond, SECONDS, kind)
    const of = (names: readonly string[]): number => names.reduce((sum, name) => sum + (spent.parts.get(name) ?? 0), 0) / answered.length
    costs.push({ kind, gateway: of(['gateway']), servers: of(SERVERS) })
  }
  return costs
}

export function costMeasures({ answered }: Run, costs: readonly Cost[]): Measure[] {
  const used = costs.map((cost) => cost.gateway * answered.filter(({ kind }) => kind === cost.kind).length)
  const all = used.reduce((sum, each) => sum + each, 0)
  return costs.map(({ kind, gateway, servers }, at) => ({
    metric: `CPU of the gateway for ${kind}`,
    value: (100 * (used[at] as number)) / all,
    unit: `% of its calls; alone ${Math.round(gateway * 1e6)} µs per call, and ${Math.round(servers * 1e6)} µs of the servers`,
  }))
}
