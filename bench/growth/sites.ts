/** The sites of the benchmark: how their stores are filled, and how their processes start. */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { makeConfig } from '../../config/config.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { readMetrics } from '../../conformance/api-client.ts'
import { systemClock } from '../../core/clock.ts'
import { OWN_SERVERS } from '../../harness/deployment/own-servers.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { storeMarks } from '../../harness/samples/stored-facts.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import { makeLayout, packOid } from '../../subgraphs/history/stores/redis/keys.ts'
import { DATA_FILE } from '../../stores/lmdb/environment.ts'
import { runningPid } from '../../scripts/servers/processes.ts'
import { SUBJECTS, type Service } from './calls.ts'
import { renewInPageCache } from './page-cache.ts'

export type Site = {
  /** In the embedded shape, the service does not run during the fill. */
  fill(from: number, to: number): Promise<void>
  /** Starts new processes of Tidemark. The servers go on. */
  start(): Promise<Service>
  remove(): Promise<void>
}

const BUSINESSES = [1, 2, 3, 4]
/** One per business, then the timeline and the record of the one with data. */
const COMMANDS_OF_PAGE = BUSINESSES.length + 2
const ROWS_AT_ONCE = 4_000
/** All rows of the largest size. A smaller pool would measure how MariaDB reads its files. */
const BUFFER_POOL = '10G'
const VIEWED_AT = 1_780_000_000_000
const QUIET_MAX_MS = 120_000
const QUICK = { flushAgeMaxMs: 500, sweepAfterMs: 2_000 }
/** The reconciler recounts subjects all the time, whether there are calls or not. On a large site, it reads more rows. */
const RECONCILE_MS = 86_400_000
const SETTINGS = { history: QUICK, thumbup: { ...QUICK, windowMs: 200, reconcileEveryMs: RECONCILE_MS } }
const silent = { debug() {}, info() {}, warn() {}, error() {} }

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

export function openEmbedded(): Promise<Site> {
  const { folder, remove } = makeServiceFolder()
  const data = join(folder, 'data')
  return Promise.resolve({
    async fill(from, to) {
      const config = makeConfig([{ name: 'bench', values: { ...SETTINGS, stores: { data } } }])
      const stores = await openStores(config, systemClock, silent)
      try {
        await fill(stores, from, to)
      } finally {
        await stores.close()
      }
      renewInPageCache(join(data, DATA_FILE))
    },
    async start() {
      const service = await startService({ folder, settings: SETTINGS })
      return {
        url: service.url,
        pids: new Map([['service', service.pid]]),
        settled: () => settled(service.url),
        fills: () => fillsOf(service.url),
        async stop() {
          const status = await service.stop()
          if (status !== 0) throw new Error(`the service ended with status ${status}: ${service.log()}`)
        },
      }
    },
    remove: () => Promise.resolve(remove()),
  })
}

export async function openDistributed(): Promise<Site> {
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
      try {
        await fill(stores, from, to)
      } finally {
        await stores.close()
      }
    },
    async start() {
      for (const role of deployment.roles) {
        if ((await role.stop()) !== 0) throw new Error([`${role.name} did not end in order`, ...role.deaths()].join(': '))
        await role.start()
      }
      const redis = new Redis(deployment.servers.redis.port)
      return {
        url: gateway.url,
        readBare: makeBareReader(redis, deployment.config.stores),
        pids: new Map([
          ...deployment.roles.map((role) => [role.name, role.pid() as number] as const),
          ...servers.map((each) => [basename(each), runningPid(each) as number] as const),
        ]),
        settled: async () => void (await waitUntilConverged(deployment, QUIET_MAX_MS)),
        fills: () => fillsOf(gateway.url),
        stop: () => Promise.resolve(redis.disconnect()),
      }
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

async function fillsOf(url: string): Promise<number> {
  const fills = (await readMetrics(url)).get('tidemark_mark_fills_total')
  if (fills === undefined) throw new Error(`${url} has no metric tidemark_mark_fills_total`)
  return fills
}

const WAITING = ['dirty_keys', 'dirty_marks', 'marks_log_lag_messages', 'log_lag_messages']

async function settled(url: string): Promise<void> {
  for (const end = Date.now() + QUIET_MAX_MS; ; await sleep(100)) {
    const metrics = await readMetrics(url)
    const waiting = WAITING.map((name) => ({ name, count: metrics.get(`tidemark_${name}`) }))
    if (waiting.every(({ count }) => count === 0)) return
    if (Date.now() > end) throw new Error(`not persisted in time: ${waiting.map(({ name, count }) => `${name} ${count}`).join(', ')}`)
  }
}
