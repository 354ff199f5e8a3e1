/**
 * Does every alert fire for its fault, how soon, and does a healthy deployment stay silent?
 *
 *     npm run bench -- alerts [--quick] [--json] [--minutes N]
 *
 * A whole deployment under a light load, and a real Prometheus with the shipped rules. The ranges and waits of the rules are 20 times shorter
 * than in production: a wait of five minutes takes 15 seconds. First the deployment is well for ten minutes (`--minutes`; 20 s with
 * --quick), and no alert may fire. Every expression of the dashboards must then have a value. Afterwards one fault after the other is
 * injected and repaired. --quick leaves out the slow ones.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startDrill, type Drill, type DrillResult } from '../../harness/alerts/drill.ts'
import { faultsOf } from '../../harness/alerts/faults.ts'
import { startLoad } from '../../harness/alerts/load.ts'
import { startSite } from '../../harness/alerts/site.ts'
import { silentQueries } from '../../harness/alerts/queries.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const SPEED = 20
/** As often as every 40 seconds in production. The delay of an event loop has a value only if it was late more than once in between. */
const SCRAPE_MS = 2_000
/** Jobs join their groups, and counters get their first values. */
const WARM_UP_MS = 30_000
const HEALTHY_MINUTES = 10
const FAULT_MAX_MS = 150_000
const QUICK: ReadonlySet<string> = new Set(['gateway', 'redis', 'manifest'])

export async function bench({ quick, minutes = HEALTHY_MINUTES, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting the deployment')
  const site = await startSite()
  const load = startLoad(site.deployment.gateways.map(({ url }) => url))
  let drill: Drill | undefined
  try {
    await sleep(WARM_UP_MS)
    drill = await startDrill(site.deployment, { speed: SPEED, everyMs: SCRAPE_MS })
    const healthyMs = quick ? 20_000 : minutes * 60_000
    progress(`a healthy load for ${healthyMs / 60_000} minutes`)
    const falseAlarms = await drill.watch(healthyMs)
    const answered = load.answered()
    const silent = await silentQueries(drill.prometheus, `${SCRAPE_MS * 5}ms`)
    for (const expr of silent) progress(`no value: ${expr}`)
    const results: DrillResult[] = []
    for (const [key, fault] of Object.entries(faultsOf(site))) {
      if (key === 'whole' || (quick && !QUICK.has(key))) continue
      progress(fault.name)
      const result = await drill.run(fault, FAULT_MAX_MS)
      for (const { alert, seconds } of result.fired) progress(`  ${alert}: ${seconds?.toFixed(1) ?? 'not fired'} s`)
      progress(`  answers of the load so far: ${load.answered()}, errors ${JSON.stringify(load.failed())}`)
      if (result.others.length > 0) progress(`  also: ${result.others.join(', ')}`)
      results.push(result)
    }
    return [
      { metric: 'operations of the healthy load', value: answered, unit: 'operations' },
      {
        metric: `false alarms${falseAlarms.length === 0 ? '' : `: ${falseAlarms.join(', ')}`}`,
        value: falseAlarms.length,
        unit: 'alerts',
        target: 0,
        atMost: true,
      },
      { metric: 'expressions of dashboards without a value', value: silent.length, unit: 'expressions', target: 0, atMost: true },
      ...results
        .flatMap(({ fired }) => fired)
        .map(({ fault, alert, seconds }) => ({
          metric: `${fault}: ${alert}`,
          value: seconds ?? Number.POSITIVE_INFINITY,
          unit: 's',
          target: FAULT_MAX_MS / 1_000,
          atMost: true,
        })),
    ]
  } finally {
    await load.stop()
    await drill?.stop()
    await site.remove()
  }
}
