/**
 * Does every alert fire for its fault, how soon, and does a healthy deployment stay silent?
 *
 *     npm run bench -- alerts [--quick] [--json] [--minutes N] [--only FAULT,FAULT]
 *
 * A whole deployment under a light load, and a real Prometheus with the shipped rules. The ranges and waits of the rules are 20 times shorter
 * than in production: a wait of five minutes takes 15 seconds. First the deployment is well for ten minutes (`--minutes`; 20 s with
 * --quick), and no alert may fire. Every expression of the dashboards must then have a value. Afterwards one fault after the other is
 * injected and repaired. An alert that is neither expected for the fault nor its companion is a failure. --quick leaves out the slow faults.
 * --only selects faults by their keys in `harness/alerts/faults.ts`, after 20 healthy seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startDrill, type Drill, type DrillFault, type DrillResult } from '../../harness/alerts/drill.ts'
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
const QUICK = ['gateway', 'redis', 'manifest']
const SHORT_MS = 20_000

export async function bench({ quick, only, minutes, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting the deployment')
  const site = await startSite()
  const load = startLoad(
    site.deployment.gateways.map(({ url }) => url),
    { hasPartner: true },
  )
  let drill: Drill | undefined
  try {
    const faults = chosen(faultsOf(site), quick, only)
    await sleep(WARM_UP_MS)
    drill = await startDrill(site.deployment, { speed: SPEED, everyMs: SCRAPE_MS })
    const isShort = quick || only !== undefined
    const healthyMs = isShort && minutes === undefined ? SHORT_MS : (minutes ?? HEALTHY_MINUTES) * 60_000
    progress(`a healthy load for ${healthyMs / 1_000} s`)
    const falseAlarms = await drill.watch(healthyMs)
    const answered = load.answered()
    const silent = await silentQueries(drill.prometheus, `${SCRAPE_MS * 5}ms`)
    for (const expr of silent) progress(`no value: ${expr}`)
    const results: DrillResult[] = []
    for (const fault of faults) {
      progress(fault.name)
      const result = await drill.run(fault, FAULT_MAX_MS)
      for (const { alert, seconds } of result.fired) progress(`  ${alert}: ${seconds?.toFixed(1) ?? 'not fired'} s`)
      progress(`  answers of the load so far: ${load.answered()}, errors ${JSON.stringify(load.failed())}`)
      if (result.others.length > 0) progress(`  also: ${result.others.join(', ')}`)
      if (result.unexpected.length > 0) progress(`  not expected: ${result.unexpected.join(', ')}`)
      results.push(result)
    }
    const unexpected = results.flatMap((result) => result.unexpected.map((alert) => `${result.fired[0]?.fault}: ${alert}`))
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
      {
        metric: `unexpected alerts during faults${unexpected.length === 0 ? '' : ` (${unexpected.join('; ')})`}`,
        value: unexpected.length,
        unit: 'alerts',
        target: 0,
        atMost: true,
      },
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

/** In their order. Throws if `only` names a fault that does not exist. */
function chosen(all: Record<string, DrillFault>, quick: boolean, only: string | undefined): DrillFault[] {
  // The fault of a small deployment.
  const { whole: _, ...faults } = all
  const keys = only?.split(',') ?? (quick ? QUICK : Object.keys(faults))
  const unknown = keys.filter((key) => faults[key] === undefined)
  if (unknown.length > 0) throw new Error(`there is no fault ${unknown.join(', ')}: choose from ${Object.keys(faults).join(', ')}`)
  return Object.entries(faults).flatMap(([key, fault]) => (keys.includes(key) ? [fault] : []))
}
