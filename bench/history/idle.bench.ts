/**
 * How much CPU time does a full set of roles take without requests? Gateway, subgraph and job run on Redis, Kafka and MariaDB. The figure
 * is the CPU time of each process over 20 s (10 s with --quick).
 *
 *     npm run bench -- idle [--quick] [--json]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startDeployment } from '../../harness/deployment/deployment.ts'
import { cpuSeconds } from '../support/cpu.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

/** The work after the start: compiling, the first join of the group. */
const SETTLE_MS = 8_000
const CORE_PERCENT_MAX = 2

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting Redis, Kafka, MariaDB, a gateway, a subgraph and a job')
  const deployment = await startDeployment({ subgraphs: 1 })
  try {
    await sleep(SETTLE_MS)
    progress('idle')
    const { roles } = deployment
    const before = roles.map((role) => cpuSeconds(role.pid() as number))
    const begun = performance.now()
    await sleep(quick ? 10_000 : 20_000)
    const seconds = (performance.now() - begun) / 1_000
    const percents = roles.map((role, index) => (100 * (cpuSeconds(role.pid() as number) - (before[index] as number))) / seconds)
    return [
      ...roles.map((role, index) => ({ metric: `idle ${role.name}`, value: percents[index] as number, unit: '% of a core' })),
      {
        metric: 'a full idle set of roles',
        value: percents.reduce((sum, percent) => sum + percent, 0),
        unit: '% of a core',
        target: CORE_PERCENT_MAX,
        atMost: true,
      },
    ]
  } finally {
    await deployment.remove()
  }
}
