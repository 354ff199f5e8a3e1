/**
 * Does a call cost the same for many viewers as for few? The sites have 10 thousand to 10 million viewers (2,000 and 10,000 with --quick).
 * Each viewer has one report and one like. At each size, the viewers of the last step make calls through the gateway: pages of history, marks
 * and reports. At the first call, the hot store does not have their likes. The cost is the CPU time of all processes, from the first call until
 * all writes are persisted.
 *
 * A large fill takes minutes, and the speed of the machine may change meanwhile. Each shape therefore has two sites that are loaded in turn: one
 * grows, and one stays small. At each size, the small site gets as many new viewers as the smallest size has. At the last of four sizes, the small
 * site has four times as many. A factor is the median over the rounds. At the first size, both sites are equal, so their factor shows the noise.
 *
 * On servers, the benchmark also sends the bare commands of a page of history to Redis, and measures the CPU of Redis.
 *
 *     npm run bench -- growth [--quick] [--only embedded|distributed] [--json]
 *
 * Before the calls, the embedded file is in the page cache in small folios. Writes into small folios are cheap.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { makeConfig } from '../../config/config.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { systemClock } from '../../core/clock.ts'
import { OWN_SERVERS } from '../../harness/deployment/own-servers.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { storeMarks } from '../../harness/samples/stored-facts.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import { makeLayout, packOid } from '../../subgraphs/history/stores/redis/keys.ts'
import { DATA_FILE } from '../../stores/lmdb/environment.ts'
import { runningPid } from '../../scripts/servers/processes.ts'
import { cpuSeconds, machineSeconds } from '../support/cpu.ts'
import { runLoad } from '../support/load.ts'
import { medianOf } from '../support/quantile.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { renewInPageCache } from './page-cache.ts'

const SIZES = { quick: [2_000, 10_000], full: [10_000, 100_000, 1_000_000, 10_000_000] }
/** Calls per round. The rounds of the small site together are at most one call per viewer of the smallest size, and leave viewers for the warm-up. */
const CALLS = { quick: 500, full: 1_500 }
const ROUNDS = { quick: 1, full: 3 }
/**
 * Calls of each kind before the first round, by viewers without other calls. V8 optimizes the code meanwhile. A process maps a part of the file
 * when it first reads it, so these viewers are many. Only marks come from equally many viewers on both sites, because only the first mark of each
 * comes from an unknown viewer.
 */
const WARM_UP = { quick: 2_000, full: 20_000 }
const CONNECTIONS = 8
/** Viewers of a round of bare reads. */
const BARE_READS = { quick: 10_000, full: 20_000 }
const BUSINESSES = [1, 2, 3, 4]
/** One per business, then the timeline and the record of the one with data. */
const COMMANDS_OF_PAGE = BUSINESSES.length + 2
/** The greatest cost of the grown site, relative to the small site. */
const GROWTH_MAX = 1.2
const ROWS_AT_ONCE = 4_000
/** All rows of the largest size. A smaller pool would measure how MariaDB reads its files. */
const BUFFER_POOL = '10G'
const SUBJECTS = 5_000
const STEP = 7_919
const VIEWED_AT = 1_780_000_000_000
const QUIET_MAX_MS = 120_000
/**
 * After a fill, the servers still write their files. The calls begin when the machine uses at most this many cores, or after
 * REST_WAIT_MAX_MS. At rest, the servers of two sites use 0.26 to 0.4 of a core.
 */
const REST_CORES_MAX = 0.5
const REST_MS = 5_000
const REST_WAIT_MAX_MS = 600_000
const QUICK = { flushAgeMaxMs: 500, sweepAfterMs: 2_000 }
const SETTINGS = { history: QUICK, thumbup: { ...QUICK, windowMs: 200 } }
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const CALLS_BY_NAME = {
  page: () => ({ query: '{ viewerHistory(first: 20) { edges { viewedAt node { id viewerProgress { position } } } } }', variables: {} }),
  mark: (id: string) => ({
    query: 'mutation ($input: SetMarkInput!) { setMark(input: $input) { outcome userErrors { code } } }',
    variables: { input: { business: 'video', id, mark: 'LIKE' } },
  }),
  report: (id: string) => ({
    query: 'mutation ($input: ReportProgressInput!) { reportProgress(input: $input) { outcome userErrors { code } } }',
    variables: { input: { business: 'video', id, position: 60_000, duration: 120_000 } },
  }),
}
type CallName = keyof typeof CALLS_BY_NAME

/** Per call. `parts`: the microseconds of each process, as text. */
type Cost = { cpuUs: number; p50Ms: number; parts: string }

type Service = {
  url: string
  pids: ReadonlyMap<string, number>
  settled(): Promise<void>
  stop(): Promise<void>
  /** Reads these viewers' newest entries from Redis without Tidemark. */
  readBare?(viewers: readonly string[]): Promise<void>
}
type Site = {
  /** In the embedded shape, the service does not run during the fill. */
  fill(from: number, to: number): Promise<void>
  start(): Promise<Service>
  remove(): Promise<void>
}
/** A running site, and the viewers of its calls: those from `from` to `to` - 1. */
type Running = { service: Service; from: number; to: number }

export async function bench({ quick, only, progress }: BenchOptions): Promise<Measure[]> {
  const size = quick ? 'quick' : 'full'
  const measures: Measure[] = []
  for (const [name, open] of Object.entries({ embedded: openEmbedded, distributed: openDistributed })) {
    if (only !== undefined && only !== name) continue
    const sites: Site[] = []
    try {
      for (let site = 0; site < 2; site++) sites.push(await open())
      measures.push(...(await measureGrowth(name, sites as [Site, Site], size, progress)))
    } finally {
      await allEnded(sites.map((site) => site.remove()))
    }
  }
  return measures
}

async function measureGrowth(
  name: string,
  [small, grown]: readonly [Site, Site],
  size: 'quick' | 'full',
  progress: (text: string) => void,
): Promise<Measure[]> {
  const measures: Measure[] = []
  const [smallest = 0] = SIZES[size]
  let filled = 0
  for (const [step, viewers] of SIZES[size].entries()) {
    const begun = performance.now()
    await grown.fill(filled, viewers)
    await small.fill(step * smallest, (step + 1) * smallest)
    progress(`${name}: ${viewers} viewers after ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
    progress(`the machine uses ${(await untilAtRest()).toFixed(2)} cores before the calls`)
    const running: Running[] = []
    try {
      running.push({ service: await small.start(), from: step * smallest, to: (step + 1) * smallest })
      running.push({ service: await grown.start(), from: filled, to: viewers })
      measures.push(...(await measureInTurn(running as [Running, Running], `${name}, ${viewers} viewers`, size, progress)))
    } finally {
      await allEnded(running.map(({ service }) => service.stop()))
    }
    filled = viewers
  }
  return measures
}

async function measureInTurn(
  sites: readonly [Running, Running],
  title: string,
  size: 'quick' | 'full',
  progress: (text: string) => void,
): Promise<Measure[]> {
  const calls = CALLS[size]
  const names = Object.keys(CALLS_BY_NAME) as CallName[]
  const measured = (ROUNDS[size] + 2) * calls
  for (const site of sites) {
    for (const name of names) {
      const all = name === 'mark' ? (SIZES[size][0] as number) : site.to - site.from
      await costOf(site, name, 0, WARM_UP[size], { firstPlace: measured, viewers: all - measured })
    }
  }
  const measures: Measure[] = []
  for (const name of names) {
    const costs = await inTurn(sites, ROUNDS[size], (site, round) => costOf(site, name, round * calls, calls))
    const counted = besideSmall(costs, ({ cpuUs }) => cpuUs)
    measures.push(
      { metric: `${title}: ${name}, CPU`, value: medianOf(counted, (each) => each.grown), unit: 'µs' },
      { metric: `${title}: ${name}, CPU of the small site`, value: medianOf(counted, (each) => each.small), unit: 'µs' },
      {
        metric: `${title}: ${name}, CPU : the smallest size`,
        value: medianOf(counted, (each) => each.grown / each.small),
        unit: 'ratio',
        target: GROWTH_MAX,
        atMost: true,
      },
      { metric: `${title}: ${name}, p50`, value: medianOf(costs.grown, (each) => each.p50Ms), unit: 'ms' },
    )
    const listed = counted.map((each) => `${each.small.toFixed(0)} ${each.grown.toFixed(0)}`).join(', ')
    progress(
      `${title}: ${name}, small and grown: ${listed} µs of CPU; the last: ${costs.small.at(-1)?.parts} | ${costs.grown.at(-1)?.parts}`,
    )
  }
  if (sites.some(({ service }) => service.readBare === undefined)) return measures
  const bare = await inTurn(sites, ROUNDS[size], (site, round) => bareCostOf(site, round, BARE_READS[size]))
  const counted = besideSmall(bare, (us) => us)
  const metric = `${title}: bare commands of a page, CPU of Redis`
  measures.push(
    { metric, value: medianOf(counted, (each) => each.grown), unit: 'µs' },
    { metric: `${metric} : the smallest size`, value: medianOf(counted, (each) => each.grown / each.small), unit: 'ratio' },
  )
  const listed = counted.map((each) => `${each.small.toFixed(1)} ${each.grown.toFixed(1)}`).join(', ')
  progress(`${metric}, small and grown: ${listed} µs`)
  return measures
}

/** The costs of the counted rounds. `small` has one round more: it is the first and the last. */
type InTurn<T> = { small: readonly T[]; grown: readonly T[] }

/** The first round of each site is the warm-up. The sites alternate strictly, because a site that is loaded twice in a row costs less. */
async function inTurn<T>(
  [small, grown]: readonly [Running, Running],
  rounds: number,
  cost: (site: Running, round: number) => Promise<T>,
): Promise<InTurn<T>> {
  const costs: { small: T[]; grown: T[] } = { small: [], grown: [] }
  for (let round = 0; round <= rounds; round++) {
    costs.small.push(await cost(small, round))
    costs.grown.push(await cost(grown, round))
  }
  costs.small.push(await cost(small, rounds + 1))
  return { small: costs.small.slice(1), grown: costs.grown.slice(1) }
}

/** Each round of the grown site, and the mean of the small site's rounds before and after it. One of them alone gives one site an advantage. */
function besideSmall<T>({ small, grown }: InTurn<T>, usOf: (cost: T) => number): { small: number; grown: number }[] {
  return grown.map((each, at) => ({ small: (usOf(small[at] as T) + usOf(small[at + 1] as T)) / 2, grown: usOf(each) }))
}

/** The CPU time of Redis per viewer. */
async function bareCostOf(site: Running, round: number, viewers: number): Promise<number> {
  const { service } = site
  const redis = service.pids.get('redis') as number
  const before = cpuSeconds(redis)
  for (let read = 0; read < viewers; read += CONNECTIONS)
    await service.readBare?.(Array.from({ length: CONNECTIONS }, (_, place) => viewerOf(site, round * viewers + read + place)))
  return ((cpuSeconds(redis) - before) * 1_000_000) / viewers
}

/** Rejects with the first failure when all have ended. */
async function allEnded(endings: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(endings)
  await Promise.all(endings)
}

/** Waits until the machine is at rest, about ten minutes at most. Returns the number of cores that it still uses. */
async function untilAtRest(): Promise<number> {
  for (const end = Date.now() + REST_WAIT_MAX_MS; ;) {
    const before = machineSeconds()
    await sleep(REST_MS)
    const cores = (machineSeconds() - before) / (REST_MS / 1_000)
    if (cores <= REST_CORES_MAX || Date.now() > end) return cores
  }
}

/** Successive viewers are far apart in the stores. The step is prime, so the order repeats only after all viewers. */
function viewerOf({ from, to }: Running, place: number): string {
  return String(from + ((place * STEP) % (to - from)))
}

/** The viewers from `firstPlace` on take turns. Default: all viewers. */
async function costOf(
  site: Running,
  name: CallName,
  from: number,
  calls: number,
  { firstPlace, viewers } = { firstPlace: 0, viewers: site.to - site.from },
): Promise<Cost> {
  const { url, pids, settled } = site.service
  const all = (): number[] => [...pids.values()].map(cpuSeconds)
  let next = from
  const before = all()
  const { p50Ms } = await runLoad({
    url,
    connections: CONNECTIONS,
    durationMs: 600_000,
    body: () => (next < from + calls ? JSON.stringify(CALLS_BY_NAME[name](subjectOf(next))) : undefined),
    headers: () => ({ 'x-viewer-id': viewerOf(site, firstPlace + (next++ % viewers)) }),
    check(answer) {
      if (/"errors"|"degraded"|"code"|"edges":\[\]/.test(answer)) throw new Error(`unexpected answer to a call: ${answer.slice(0, 300)}`)
    },
  })
  await settled()
  const after = all()
  const partsUs = after.map((seconds, at) => ((seconds - (before[at] as number)) * 1_000_000) / calls)
  return {
    cpuUs: partsUs.reduce((sum, part) => sum + part, 0),
    p50Ms,
    parts: [...pids.keys()].map((name, at) => `${name} ${partsUs[at]?.toFixed(0)}`).join(', '),
  }
}

/** A viewer who calls again gets another subject. */
const subjectOf = (call: number): string => String((call * STEP + Math.floor(call / SUBJECTS)) % SUBJECTS)

/** The subject that a viewer reports and likes during the fill. */
const oidOf = (viewer: number | string): string => String((Number(viewer) * 7) % SUBJECTS)

/** Writes as the service and its jobs do: history through the hot store. Likes go only to the record store. */
async function fill({ hot, records, marks }: OpenStores, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ROWS_AT_ONCE) {
    const keys = Array.from({ length: Math.min(ROWS_AT_ONCE, to - at) }, (_, place) => {
      const viewer = at + place
      return { viewer: String(viewer), business: 1, oid: oidOf(viewer) }
    })
    const writes = keys.map((key, place) => {
      const viewedAt = VIEWED_AT + at + place
      const resume = { position: 60_000, duration: 120_000, device: 'phone', finished: false, deleted: false }
      return { ...key, record: { viewedAt, since: 0, rank: 2 ** 42 + viewedAt, version: 0, ...resume }, decisive: true }
    })
    const likes = keys.map((key, place) => ({
      key,
      record: { mark: 'LIKE' as const, markedAt: VIEWED_AT, version: (VIEWED_AT + at + place) * 1_024 },
    }))
    await hot.putProgress(writes, { now: Date.now(), timelineCap: 1_000 })
    await Promise.all([persistKeys({ hot, records }, keys, { timelineCap: 1_000, purgeRowsMax: 1_000 }), storeMarks(marks.records, likes)])
  }
}

function openEmbedded(): Promise<Site> {
  const { folder, remove } = makeServiceFolder()
  const data = join(folder, 'data')
  return Promise.resolve({
    async fill(from, to) {
      const config = makeConfig([{ name: 'bench', values: { ...SETTINGS, stores: { data } } }])
      const stores = await openStores(config, systemClock, silent)
      await fill(stores, from, to)
      await stores.close()
      renewInPageCache(join(data, DATA_FILE))
    },
    async start() {
      const service = await startService({ folder, settings: SETTINGS })
      return {
        url: service.url,
        pids: new Map([['service', service.pid]]),
        settled: () => settled(service.url),
        stop: async () => void (await service.stop()),
      }
    },
    remove: () => Promise.resolve(remove()),
  })
}

async function openDistributed(): Promise<Site> {
  const deployment = await startDeployment({
    markJobs: 1,
    settings: SETTINGS,
    mariadbOptions: [`--innodb-buffer-pool-size=${BUFFER_POOL}`],
  })
  const { folder } = deployment.servers
  const [gateway] = deployment.gateways
  if (gateway === undefined) throw new Error('the deployment has no gateway')
  const servers = OWN_SERVERS.map((name) => join(folder, name)).filter((each) => existsSync(each))
  return {
    async fill(from, to) {
      const stores = await deployment.openStores()
      await fill(stores, from, to)
      await stores.close()
    },
    start() {
      const redis = new Redis(deployment.servers.redis.port)
      return Promise.resolve({
        url: gateway.url,
        readBare: makeBareReader(redis, deployment.config.stores),
        pids: new Map([
          ...deployment.roles.map((role) => [role.name, role.pid() as number] as const),
          ...servers.map((each) => [basename(each), runningPid(each) as number] as const),
        ]),
        settled: async () => void (await waitUntilConverged(deployment, QUIET_MAX_MS)),
        stop: () => Promise.resolve(redis.disconnect()),
      })
    },
    remove: () => deployment.remove(),
  }
}

/** Reads the keys that the script of a page reads. The script also sends EXISTS for contents without a state. */
function makeBareReader(redis: Redis, { regions, redis: options }: Deployment['config']['stores']): NonNullable<Service['readBare']> {
  const layout = makeLayout(options?.prefix ?? 'tm', regions)
  return async (viewers) => {
    const commands = redis.pipeline()
    for (const viewer of viewers) {
      const region = layout.regionOf(viewer)
      for (const business of BUSINESSES) commands.hgetBuffer(layout.contents(region, viewer, business), '')
      commands.zrangeBuffer(layout.timeline(region, viewer, 1), '0', '20')
      commands.hmgetBuffer(layout.contents(region, viewer, 1), packOid(oidOf(viewer)))
    }
    const answers = (await commands.exec()) ?? []
    const listOf = (at: number) => (answers[at]?.[1] ?? []) as unknown[]
    // The last two answers of each viewer are the timeline and a list of one record.
    const isFound = viewers.every((_, at) => [1, 2].every((back) => Buffer.isBuffer(listOf((at + 1) * COMMANDS_OF_PAGE - back)[0])))
    if (!isFound) throw new Error(`Redis lacks a record: ${answers.find(([error]) => error !== null)?.[0]?.message ?? 'a key is missing'}`)
  }
}

const WAITING = /^tidemark_(?:dirty_keys|dirty_marks|marks_log_lag_messages|log_lag_messages)(?:\{.*\})? (\S+)$/gm

async function settled(url: string): Promise<void> {
  for (const end = Date.now() + QUIET_MAX_MS; ; await sleep(100)) {
    const waiting = [...(await (await fetch(new URL('/metrics', url))).text()).matchAll(WAITING)]
    if (waiting.length > 0 && waiting.every(([, count]) => count === '0')) return
    if (Date.now() > end) throw new Error(`not persisted in time: ${waiting.map(([line]) => line).join(', ')}`)
  }
}
