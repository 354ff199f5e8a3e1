/**
 * `npm run screenshots:dashboards` writes docs/images/dashboard-*.png: the dashboards of ops/grafana with data of a real deployment in a real
 * Prometheus. Under a light load, processes and servers are killed and started again, one after the other. The pictures differ from run to
 * run, so no check compares them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startDrill, type Drill } from '../harness/alerts/drill.ts'
import { faultsOf } from '../harness/alerts/faults.ts'
import { startLoad } from '../harness/alerts/load.ts'
import { startSite } from '../harness/alerts/site.ts'
import { takeDashboards } from './dashboards/pictures.ts'

const SPEED = 20
const SCRAPE_MS = 2_000
const FAULTS: ReadonlySet<string> = new Set(['gateway', 'job', 'redis', 'kafka', 'mariadb'])
const LOAD_MS = 60_000
const FAULT_MAX_MS = 60_000
/** The alerts end, and the stores catch up. */
const AFTER_MS = 45_000
/** Before the first fault. */
const SHOWN_SECONDS = 30

const site = await startSite()
const load = startLoad(site.deployment.gateways.map(({ url }) => url))
let drill: Drill | undefined
try {
  drill = await startDrill(site.deployment, { speed: SPEED, everyMs: SCRAPE_MS })
  await sleep(LOAD_MS)
  const begun = Math.floor(Date.now() / 1_000)
  for (const [key, fault] of Object.entries(faultsOf(site))) if (FAULTS.has(key)) await drill.run(fault, FAULT_MAX_MS)
  await sleep(AFTER_MS)
  const to = Math.floor(Date.now() / 1_000)
  await takeDashboards(drill.prometheus, { span: { from: begun - SHOWN_SECONDS, to, step: 1 }, scrapeSeconds: SCRAPE_MS / 1_000 })
} finally {
  await load.stop()
  await drill?.stop()
  await site.remove()
}
