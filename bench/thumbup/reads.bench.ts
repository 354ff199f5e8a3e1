/**
 * Does a healthy record store serve every read, and does the gateway limit the load on a slow one? Eight concurrent callers read the likes
 * of viewers of recorded interactions. The hot store does not know these viewers. Then the callers read history past the hot timeline, and
 * `unseen` with no filter in memory. No answer may be null or degraded, on both shapes. The viewers are read again, now without a read of
 * the record store. Then, on the distributed shape, the database gets a tenth of its time, and 32 callers read likes. The figures are
 * concurrent reads, latency, refused reads, and marks persisted meanwhile.
 *
 *     npm run bench -- reads [--quick] [--json] [--file interactions.tsv.gz]
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { readMetrics } from '../../conformance/api-client.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { forgetHot } from '../../harness/samples/mark-shapes.ts'
import type { Role } from '../../harness/deployment/role.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { storeFilters, storeHistory, storeLikes, type Facts } from '../../harness/samples/stored-facts.ts'
import { slowDown } from './slow-database.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { BUSINESS, BUSINESS_NUMBER, readDataset } from './dataset.ts'
import { quantileOf } from '../support/quantile.ts'

const CALLERS = 8
const SLOW_CALLERS = 32
const MARKS_EVERY_MS = 50
/** After about 32 fast reads, a limit that was cut from 8 to 4 is 8 again. These reads may take 50 ms. */
const WATCH_MS = 20
const CONNECTIONS = 8
const TIMELINE_CAP = 10
/** More entries than the hot timeline has, so a page needs the record store. */
const WATCHED = 13
const SINCE = 1_600_000_000_000
const QUIET_MAX_MS = 120_000
const SETTINGS = { history: { timelineCap: TIMELINE_CAP }, thumbup: { flushAgeMaxMs: 500, windowMs: 1_000 } }

const LIKES = `{ thumbupUser { likes(business: "${BUSINESS}", first: 100) { edges { node { id } } } } }`
const HISTORY = '{ viewerHistory(first: 20) { edges { node { id } } } }'
const UNSEEN = `query ($ids: [ID!]!) { unseen(business: "${BUSINESS}", candidates: $ids) { ids } }`
const MARK = `mutation ($id: ID!) { setMark(input: { business: "${BUSINESS}", id: $id, mark: LIKE }) { outcome } }`

type Served = { name: string; url: string }
type Seeds = { likes: Facts[]; watched: Facts[] }
type Tally = { calls: number; nulls: number; degraded: number; wrong: number; ms: number[]; seconds: number }

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function bench({ quick, file, progress }: BenchOptions): Promise<Measure[]> {
  const { markedBy } = await readDataset(file, quick ? 2_000 : 100_000)
  const likes = Array.from(markedBy, ([viewer, oids]) => ({ viewer, oids }))
  const oids = Array.from({ length: WATCHED }, (_, at) => `w${at}`)
  const seeds = { likes, watched: likes.slice(0, quick ? 100 : 1_000).map(({ viewer }) => ({ viewer, oids })) }
  progress(`${likes.length} viewers`)
  return [...(await measureEmbedded(seeds, progress)), ...(await measureDistributed(seeds, quick, progress))]
}

async function measureEmbedded(seeds: Seeds, progress: (text: string) => void): Promise<Measure[]> {
  const { folder, remove } = makeServiceFolder()
  try {
    const config = makeConfig([{ name: 'bench', values: { ...SETTINGS, stores: { data: join(folder, 'data') } } }])
    const stores = await openStores(config, systemClock, silent)
    await seed(stores, seeds)
    await stores.close()
    const service = await startService({ folder, settings: SETTINGS })
    try {
      return await measureHealthy({ name: 'embedded', url: service.url }, seeds, progress)
    } finally {
      await service.kill()
    }
  } finally {
    remove()
  }
}

async function measureDistributed(seeds: Seeds, quick: boolean, progress: (text: string) => void): Promise<Measure[]> {
  progress('starting Redis, Kafka, MariaDB, a gateway and two jobs')
  const deployment = await startDeployment({ markJobs: 1, settings: SETTINGS })
  try {
    const stores = await deployment.openStores()
    try {
      await seed(stores, seeds)
      const gateway = deployment.gateways[0] as Role
      const served = { name: 'distributed', url: gateway.url }
      const healthy = await measureHealthy(served, seeds, progress)
      await forgetHot(stores, BUSINESS_NUMBER)
      return [...healthy, ...(await measureSlow(deployment, served, seeds, quick ? 6_000 : 30_000, progress))]
    } finally {
      await stores.close()
    }
  } finally {
    await deployment.remove()
  }
}

async function seed(stores: OpenStores, { likes, watched }: Seeds): Promise<void> {
  await storeLikes(stores.marks.records, BUSINESS_NUMBER, likes, SINCE)
  await storeFilters(stores.seen.records, BUSINESS_NUMBER, likes)
  await storeHistory(stores.hot, stores.records, BUSINESS_NUMBER, watched, TIMELINE_CAP)
}

async function measureHealthy(served: Served, { likes, watched }: Seeds, progress: (text: string) => void): Promise<Measure[]> {
  const liked = ({ viewer, oids }: Facts) =>
    ask<Likes>(served, viewer, LIKES).then((answer) => [answer, answer.data?.thumbupUser?.likes, oids.length] as const)
  const reads = async () => (await readMetrics(served.url)).get('tidemark_marks_record_reads_total') ?? 0
  const unknown = await readAll(CALLERS, likes, liked, ({ edges }) => edges.length)
  const before = await reads()
  const known = await readAll(CALLERS, likes, liked, ({ edges }) => edges.length)
  const readsOfKnown = (await reads()) - before
  const history = await readAll(
    CALLERS,
    [...watched, ...watched, ...watched],
    ({ viewer }) =>
      ask<{ viewerHistory: Listed }>(served, viewer, HISTORY).then((answer) => [answer, answer.data?.viewerHistory, WATCHED] as const),
    ({ edges }) => edges.length,
  )
  const unseen = await readAll(
    CALLERS,
    likes,
    ({ viewer, oids }) =>
      ask<{ unseen: { ids: readonly string[] } }>(served, viewer, UNSEEN, { ids: oids.slice(0, 100) }).then(
        (answer) => [answer, answer.data?.unseen, 0] as const,
      ),
    ({ ids }) => ids.length,
  )
  const of = (title: string, tally: Tally) => measuresOf(`${served.name}: ${title}`, tally, progress)
  return [
    ...of('likes of viewers that the hot store does not know', unknown),
    ...of('likes of viewers that it knows', known),
    { metric: `${served.name}: reads of the record store for those`, value: readsOfKnown, unit: '', target: 0, atMost: true },
    ...of('history past the hot timeline', history),
    ...of('unseen without filters in memory', unseen),
  ]
}

async function measureSlow(deployment: Deployment, served: Served, { likes }: Seeds, forMs: number, progress: (text: string) => void) {
  progress(`distributed: the database gets a tenth of its time for ${forMs / 1_000} s`)
  const job = deployment.markJobs[0] as Role
  const rows = async () => (await readMetrics(job.url)).get('tidemark_marks_persisted_rows_total') ?? 0
  const restore = slowDown(deployment.servers.mariadb)
  const end = performance.now() + forMs
  const isOver = () => performance.now() > end
  let [most, least, longest, marks] = [0, Infinity, 0, 0]
  const persistedBefore = await rows()
  const refusedBefore = (await readMetrics(served.url)).get('tidemark_marks_record_reads_refused_total') ?? 0
  const watch = (async () => {
    while (!isOver()) {
      const metrics = await readMetrics(served.url)
      most = Math.max(most, metrics.get('tidemark_marks_record_reads_under_way') ?? Infinity)
      least = Math.min(least, metrics.get('tidemark_marks_record_reads_limit') ?? Infinity)
      longest = Math.max(longest, metrics.get('tidemark_marks_record_reads_waiting') ?? 0)
      await sleep(WATCH_MS)
    }
  })()
  const marking = (async () => {
    for (; !isOver(); await sleep(MARKS_EVERY_MS)) {
      const { data } = await ask<{ setMark: { outcome: string } | null }>(served, `writer-${marks % 20}`, MARK, { id: String(marks) })
      if (data?.setMark?.outcome === 'ACCEPTED') marks++
    }
  })()
  const liked = ({ viewer, oids }: Facts) =>
    ask<Likes>(served, viewer, LIKES).then((answer) => [answer, answer.data?.thumbupUser?.likes, oids.length] as const)
  const reading = readAll(SLOW_CALLERS, likes, liked, ({ edges }) => edges.length, isOver)
  const [tally] = await Promise.all([reading, watch, marking])
  const persisted = (await rows()) - persistedBefore
  const refused = ((await readMetrics(served.url)).get('tidemark_marks_record_reads_refused_total') ?? 0) - refusedBefore
  await restore()
  const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
  const title = 'slow database'
  return [
    { metric: `${title}: lists of likes`, value: tally.calls, unit: '' },
    { metric: `${title}: p50`, value: quantile(tally.ms, 0.5), unit: 'ms' },
    { metric: `${title}: p99`, value: quantile(tally.ms, 0.99), unit: 'ms' },
    { metric: `${title}: reads under way at most`, value: most, unit: '', target: CONNECTIONS, atMost: true },
    { metric: `${title}: least limit of reads`, value: least, unit: '', target: CONNECTIONS / 2, atMost: true },
    { metric: `${title}: reads that waited at most`, value: longest, unit: '' },
    { metric: `${title}: reads refused`, value: refused, unit: '' },
    { metric: `${title}: degraded lists`, value: tally.degraded, unit: '', target: 0, atMost: true },
    { metric: `${title}: lists that are neither whole nor degraded`, value: tally.wrong, unit: '', target: 0, atMost: true },
    { metric: `${title}: marks acknowledged`, value: marks, unit: '', target: 1 },
    { metric: `${title}: marks persisted meanwhile`, value: persisted, unit: '', target: 1 },
    { metric: `${title}: quiet until all is in place`, value: convergedMs, unit: 'ms' },
  ]
}

type Listed = { edges: readonly unknown[] }
type Likes = { thumbupUser: { likes: Listed | null } }
type Answer<Data = unknown> = { data: Data | null; degraded: readonly string[] }

async function ask<Data>({ url }: Served, viewer: string, query: string, variables: object = {}): Promise<Answer<Data>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-viewer-id': viewer },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors, extensions } = (await response.json()) as {
    data: Data | null
    errors?: unknown
    extensions?: { degraded?: string[] }
  }
  return { data: errors === undefined ? data : null, degraded: extensions?.degraded ?? [] }
}

/** Each once, `callers` at a time. `one` returns the answer, its required part, and the expected number of entries in that part. */
async function readAll<Part>(
  callers: number,
  facts: readonly Facts[],
  one: (of: Facts) => Promise<readonly [Answer, Part | null | undefined, number]>,
  countOf: (part: Part) => number,
  isOver: () => boolean = () => false,
): Promise<Tally> {
  const tally: Tally = { calls: 0, nulls: 0, degraded: 0, wrong: 0, ms: [], seconds: 0 }
  const begun = performance.now()
  let next = 0
  const caller = async () => {
    while (next < facts.length && !isOver()) {
      const asked = performance.now()
      const [answer, part, expected] = await one(facts[next++] as Facts)
      tally.ms.push(performance.now() - asked)
      tally.calls++
      if (answer.degraded.length > 0) tally.degraded++
      const isNull = part === null || part === undefined
      if (isNull) tally.nulls++
      if (answer.degraded.length === 0 && (isNull || countOf(part) !== Math.min(expected, 100))) tally.wrong++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  tally.seconds = (performance.now() - begun) / 1_000
  return tally
}

function measuresOf(title: string, { calls, nulls, degraded, wrong, ms, seconds }: Tally, progress: (text: string) => void): Measure[] {
  progress(`${title}: ${calls} calls in ${seconds.toFixed(1)} s, ${nulls} null, ${degraded} degraded, ${wrong} wrong`)
  return [
    { metric: `${title}: calls`, value: calls / seconds, unit: '/s' },
    { metric: `${title}: p99`, value: quantile(ms, 0.99), unit: 'ms' },
    { metric: `${title}: null, degraded or wrong`, value: nulls + degraded + wrong, unit: '', target: 0, atMost: true },
  ]
}

function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return quantileOf(sorted, at)
}
