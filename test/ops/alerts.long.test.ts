/** The short form of `npm run bench -- alerts`: the most important alerts fire for real faults, and a healthy deployment stays silent. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDrill, type Companions, type Drill } from '../../harness/alerts/drill.ts'
import { faultsOf } from '../../harness/alerts/faults.ts'
import { startLoad, type Load } from '../../harness/alerts/load.ts'
import { silentQueries } from '../../harness/alerts/queries.ts'
import { startSite, type Site } from '../../harness/alerts/site.ts'
import { memcachedIsHere } from '../../harness/deployment/memcached-nodes.ts'
import { until } from '../../harness/until.ts'
import { service } from '../../harness/deployment/services.ts'
import { prometheusIsHere } from '../../scripts/servers/prometheus.ts'

const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
const isHere = !servers.includes(undefined) && (await memcachedIsHere()) && (await prometheusIsHere())
/** A wait of five minutes takes 2.5 s. */
const SPEED = 120
const FAULT_MAX_MS = 60_000
const SHORT_SCRAPES: Companions = {
  TidemarkProcessDown: 'a scrape ends after half a second, and a metric that asks a lost store takes longer',
  TidemarkJobMissing: 'a job without a scrape has no metrics',
}
/**
 * When Redis ends, calls wait for their time limit, and when it starts again, for a connection. Kafka takes the processors of a small machine
 * when it starts again. These seconds are as long at any speed, and the ten minutes of the alert take 5 s here.
 */
const SLOW_CALLS: Companions = { TidemarkStoreSlow: 'calls wait for some seconds when a server ends and starts again' }

describe.skipIf(!isHere)('the shipped rules in a real Prometheus', () => {
  let site: Site
  let load: Load
  let drill: Drill
  beforeAll(async () => {
    site = await startSite({ isSmall: true })
    load = startLoad([...site.deployment.gateways, ...site.deployment.whole].map(({ url }) => url))
    // Each lane has made every call, so no counter is without a rate.
    await until('300 operations are answered', () => load.answered() > 300)
    drill = await startDrill(site.deployment, { speed: SPEED, everyMs: 500 })
  })
  afterAll(async () => {
    await load?.stop()
    await drill?.stop()
    await site?.remove()
  })

  test('no alert fires while all is well, and every expression of the dashboards has a value', async () => {
    await expect.poll(() => silentQueries(drill.prometheus, '5s')).toEqual([])
    // The first calls of new processes are slow, and the alert for slow calls is right about them.
    await expect.poll(() => drill.watch(3_000)).toEqual([])
    expect(load.failed()).toEqual({})
  })

  test.each(['whole', 'redis', 'kafka'])('the alerts of a fault fire after it, and not before: %s', async (key) => {
    const fault = faultsOf(site)[key]
    if (fault === undefined) throw new Error(`there is no fault ${key}`)
    const companions = { ...fault.companions, ...SHORT_SCRAPES, ...(key === 'whole' ? {} : SLOW_CALLS) }
    const { fired, unexpected } = await drill.run({ ...fault, companions }, FAULT_MAX_MS)
    expect(fired.filter(({ seconds }) => seconds === undefined)).toEqual([])
    expect(unexpected).toEqual([])
  })
})
