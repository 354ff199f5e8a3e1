/**
 * Pages of states and counts through the gateway, in turn with raw reads of the same keys (`raw-reader.ts`). A page is 50
 * subjects for one viewer: `viewerMark`, `likeCount` and `dislikeCount` of each, 150 lookups. The operation is persisted. The
 * hot store knows all marks of the viewers, and no subject is hot, so every page reads Redis.
 */
import type { Deployment } from '../../harness/deployment/deployment.ts'
import { metricsOf } from '../../harness/deployment/role.ts'
import { sha } from '../../harness/samples/manifests.ts'
import { runLoad } from '../support/load.ts'
import { cpuMsOf } from '../gateway/remote/process.ts'
import type { Measure } from '../support/report.ts'
import { BUSINESS, makePageRequests, type Dataset } from './dataset.ts'
import { startRawReader, type RawRound } from './raw-reader.ts'

export const PAGE_SIZE = 50
const LOOKUPS = 3 * PAGE_SIZE
const AT_ONCE = 16
const PAGES = 2_000
const WARM_UP_SECONDS_MAX = 30
const RATIO_MIN = 0.4
const LOOKUPS_MIN = 300_000
const PEERS = { single: 'pipelined reads', multi: 'pipelined multi-gets' }

export const PAGE_QUERY =
  'query Page($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { id viewerMark likeCount dislikeCount } }'

type Round = { perSecond: number; cpuMicros: number; p99Ms: number }

export async function measureReads(
  deployment: Deployment,
  dataset: Dataset,
  { warmUpSeconds, rounds, seconds }: { warmUpSeconds: number; rounds: number; seconds: number },
  progress: (text: string) => void,
): Promise<Measure[]> {
  const pages = makePageRequests(dataset, PAGES, PAGE_SIZE)
  const { prefix } = { prefix: 'tm', ...deployment.config.stores.redis }
  const reader = await startRawReader({
    url: `redis://127.0.0.1:${deployment.servers.redis.port}`,
    prefix,
    regions: deployment.config.stores.regions,
    pages,
  })
  const gateway = makeGatewayLoad(deployment, pages)
  try {
    progress(`pages of ${PAGE_SIZE} subjects: the warm-up`)
    await warmUp(deployment, gateway, warmUpSeconds)
    for (const form of ['single', 'multi'] as const) await reader.run({ form, atOnce: AT_ONCE, durationMs: warmUpSeconds * 1_000 })
    const before = await lookupFigures(deployment)
    const measured: { ours: Round; single: RawRound; multi: RawRound }[] = []
    for (let round = 1; round <= rounds; round++) {
      progress(`pages of ${PAGE_SIZE} subjects: round ${round} of ${rounds}`)
      const ours = await gateway(seconds * 1_000)
      const single = await reader.run({ form: 'single', atOnce: AT_ONCE, durationMs: seconds * 1_000 })
      measured.push({ ours, single, multi: await reader.run({ form: 'multi', atOnce: AT_ONCE, durationMs: seconds * 1_000 }) })
    }
    const after = await lookupFigures(deployment)
    const median = (figure: (each: (typeof measured)[number]) => number): number =>
      measured.map(figure).sort((a, b) => a - b)[Math.floor(measured.length / 2)] as number
    return [
      {
        metric: 'lookups through the gateway (a state and two counts per subject)',
        value: median(({ ours }) => ours.perSecond * LOOKUPS),
        unit: 'per second',
        target: LOOKUPS_MIN,
      },
      { metric: 'pages of 50 subjects through the gateway', value: median(({ ours }) => ours.perSecond), unit: 'per second' },
      { metric: 'page p99', value: median(({ ours }) => ours.p99Ms), unit: 'ms' },
      { metric: 'page, CPU of the gateway', value: median(({ ours }) => ours.cpuMicros), unit: 'µs' },
      ...(['single', 'multi'] as const).flatMap((form): Measure[] => [
        { metric: `the same keys by ${PEERS[form]}`, value: median((each) => each[form].perSecond), unit: 'pages per second' },
        { metric: `the same keys by ${PEERS[form]}, CPU`, value: median((each) => each[form].cpuMicros), unit: 'µs per page' },
        {
          metric: `pages : ${PEERS[form]}, by time`,
          value: median((each) => each.ours.perSecond / each[form].perSecond),
          unit: 'ratio',
          ...(form === 'single' && { target: RATIO_MIN }),
        },
        {
          metric: `pages : ${PEERS[form]}, by CPU`,
          value: median((each) => each[form].cpuMicros / each.ours.cpuMicros),
          unit: 'ratio',
          target: RATIO_MIN,
        },
      ]),
      { metric: 'counts served without Redis meanwhile', value: after.local - before.local, unit: `of ${after.all - before.all}` },
      { metric: 'viewers that were unknown, and counts read from the record store meanwhile', value: after.cold - before.cold, unit: '' },
    ]
  } finally {
    reader.stop()
  }
}

/** V8 still optimizes the gateway in its first 20 to 30 s. Ends after a second without an unknown viewer and without a count from the record store. */
async function warmUp(deployment: Deployment, load: (durationMs: number) => Promise<unknown>, seconds: number): Promise<void> {
  await load(seconds * 1_000)
  for (let second = 0, before = -1; second < WARM_UP_SECONDS_MAX; second++) {
    const { cold } = await lookupFigures(deployment)
    if (cold === before) return
    before = cold
    await load(1_000)
  }
}

function makeGatewayLoad({ gateways }: Deployment, pages: ReturnType<typeof makePageRequests>): (durationMs: number) => Promise<Round> {
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('there is no gateway to load')
  const documentId = `sha256:${sha(PAGE_QUERY)}`
  const requests = pages.map(({ viewer, oids }) => ({
    headers: { 'x-viewer-id': viewer },
    body: Buffer.from(JSON.stringify({ documentId, variables: { business: BUSINESS, ids: oids } })),
  }))
  let next = 0
  return async (durationMs) => {
    const pid = gateway.pid() as number
    const cpuBefore = cpuMsOf(pid)
    const report = await runLoad({
      url: gateway.url,
      connections: AT_ONCE,
      durationMs,
      body: () => requests[next % requests.length]?.body,
      headers: () => requests[next++ % requests.length]?.headers ?? {},
      check(body) {
        if (body.includes('"errors"') || body.includes('"degraded"') || !body.includes('"viewerMark"'))
          throw new Error(`a page is not complete: ${body.slice(0, 100)} … ${body.slice(-200)}`)
      },
    })
    return { perSecond: report.perSecond, p99Ms: report.p99Ms, cpuMicros: ((cpuMsOf(pid) - cpuBefore) * 1_000) / report.requests }
  }
}

async function lookupFigures({ gateways }: Deployment): Promise<{ local: number; all: number; cold: number }> {
  const metrics = gateways[0] && (await metricsOf(gateways[0]))
  const of = (name: string): number => {
    const value = metrics?.get(name)
    if (value === undefined) throw new Error(`the gateway did not report ${name}`)
    return value
  }
  return {
    local: of('tidemark_count_lookups_local_total'),
    all: of('tidemark_count_lookups_total'),
    cold: of('tidemark_mark_fills_total') + of('tidemark_count_lookups_records_total'),
  }
}
