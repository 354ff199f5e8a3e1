/**
 * A whole deployment of the distributed shape: own servers, any number of roles on them, and optional proxies for network faults. Redis and
 * MariaDB have one proxy per role. Kafka has one proxy for all, because it advertises a single address.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { makeConfig, type Config } from '../../config/config.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { migrateStores } from '../../cli/stores/operate.ts'
import { OWN_SERVERS, makeOwnServers, startOwnServers, type MORE_SERVERS, type OwnServerName, type OwnServers } from './own-servers.ts'
import { makeRole, metricsOf, type Role } from './role.ts'
import { makeTcpProxy, type TcpProxy } from '../faults/tcp-proxy.ts'
import { freePorts } from './ports.ts'

export type DeploymentOptions = {
  /** Default 1. */
  gateways?: number
  /** `tidemark start`: a gateway and all jobs in one process. Default 0. */
  whole?: number
  /** `tidemark job history`. Default 1. */
  jobs?: number
  /** `tidemark job thumbup`. Default 0. */
  markJobs?: number
  /** `tidemark job feed-existence`. Default 0. */
  seenJobs?: number
  /** `tidemark job feed`. Default 0. */
  feedJobs?: number
  /** `tidemark subgraph history`. Default 0. */
  subgraphs?: number
  /** `tidemark subgraph feed-existence`. Default 0. */
  seenSubgraphs?: number
  /** `tidemark subgraph feed`. Default 0. */
  feedSubgraphs?: number
  /** Nodes of a Redis Cluster, which the caller starts and ends. Default: a single Redis that belongs to the deployment. */
  cluster?: readonly string[]
  /** Puts proxies between roles and servers. Default false. */
  proxies?: boolean
  /** Servers in addition to the three of every deployment. */
  moreServers?: readonly (typeof MORE_SERVERS)[number][]
  /** Options of mariadbd beside the usual ones. */
  mariadbOptions?: readonly string[]
  /** Settings of all roles. `stores` must not contain the addresses of the three servers. */
  settings?: DeploymentSettings | ((servers: OwnServers) => DeploymentSettings)
}

export type DeploymentSettings = {
  server?: Record<string, unknown>
  auth?: Record<string, unknown>
  history?: Record<string, unknown>
  thumbup?: Record<string, unknown>
  existence?: Record<string, unknown>
  feed?: Record<string, unknown>
  cache?: Record<string, unknown>
  limits?: Record<string, unknown>
  live?: Record<string, unknown>
  persisted?: Record<string, unknown>
  privacy?: Record<string, unknown>
  businesses?: readonly Record<string, unknown>[]
  stores?: { regions?: number; redis?: Record<string, unknown>; allow?: readonly string[] }
}

/** The network between a server and a role, or all roles. */
export type Link = { name: string; server: OwnServerName; proxy: TcpProxy }

export type Deployment = {
  servers: OwnServers
  gateways: Role[]
  whole: Role[]
  jobs: Role[]
  markJobs: Role[]
  seenJobs: Role[]
  feedJobs: Role[]
  subgraphs: Role[]
  seenSubgraphs: Role[]
  feedSubgraphs: Role[]
  roles: Role[]
  links: Link[]
  /** The settings of the roles, but with the direct addresses of the servers. */
  config: Config
  /** Opens the stores without any proxy. */
  openStores(): Promise<OpenStores>
  /** Ends everything and removes every trace. */
  remove(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Everything runs and answers when it resolves. */
export async function startDeployment(options: DeploymentOptions): Promise<Deployment> {
  const links: Link[] = []
  async function link(server: OwnServerName, role: string, port: number): Promise<number> {
    if (options.proxies !== true) return port
    const proxy = await makeTcpProxy(port)
    links.push({ name: `${server} of ${role}`, server, proxy })
    return proxy.port
  }
  const servers = await makeOwnServers({
    kafkaAddress: async (port) => `127.0.0.1:${await link('kafka', 'all', port)}`,
    mariadbOptions: options.mariadbOptions,
  })
  const roles: Role[] = []
  async function remove(): Promise<void> {
    await Promise.all(roles.map((role) => role.kill()))
    await Promise.all(links.map(({ proxy }) => proxy.close()))
    await servers.remove()
  }

  function settingsOf(name: string, redisPort: number, mariadbPort: number): Record<string, unknown> {
    const { stores, ...settings } = (typeof options.settings === 'function' ? options.settings(servers) : options.settings) ?? {}
    const redis = options.cluster === undefined ? { urls: [`redis://127.0.0.1:${redisPort}`] } : { urls: options.cluster, cluster: true }
    return {
      ...settings,
      stores: {
        ...stores,
        data: join(servers.folder, name, 'data'),
        redis: { ...stores?.redis, ...redis },
        kafka: { brokers: [`127.0.0.1:${servers.kafka.port}`] },
        mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${mariadbPort}/tidemark` },
      },
    }
  }

  async function makeRoles(command: readonly string[], count: number): Promise<Role[]> {
    const ports = await freePorts(count)
    return Promise.all(
      ports.map(async (port, index) => {
        const name = `${command.join('-')}-${index + 1}`
        const settings = settingsOf(name, await link('redis', name, servers.redis.port), await link('mariadb', name, servers.mariadb.port))
        const role = makeRole({ name, command, port, folder: join(servers.folder, name), settings })
        roles.push(role)
        return role
      }),
    )
  }

  try {
    const common = options.cluster === undefined ? OWN_SERVERS : (['kafka', 'mariadb'] as const)
    await startOwnServers(servers, [...common, ...(options.moreServers ?? [])])
    const config = makeConfig([{ name: 'deployment', values: settingsOf('direct', servers.redis.port, servers.mariadb.port) }])
    await migrateStores(config, systemClock, silent)
    const gateways = await makeRoles(['gateway'], options.gateways ?? 1)
    const whole = await makeRoles(['start'], options.whole ?? 0)
    const jobs = await makeRoles(['job', 'history'], options.jobs ?? 1)
    const markJobs = await makeRoles(['job', 'thumbup'], options.markJobs ?? 0)
    const seenJobs = await makeRoles(['job', 'feed-existence'], options.seenJobs ?? 0)
    const feedJobs = await makeRoles(['job', 'feed'], options.feedJobs ?? 0)
    const subgraphs = await makeRoles(['subgraph', 'history'], options.subgraphs ?? 0)
    const seenSubgraphs = await makeRoles(['subgraph', 'feed-existence'], options.seenSubgraphs ?? 0)
    const feedSubgraphs = await makeRoles(['subgraph', 'feed'], options.feedSubgraphs ?? 0)
    await Promise.all(roles.map((role) => role.start()))
    const stores = () => openStores(config, systemClock, silent)
    const jobsOfAll = { jobs, markJobs, seenJobs, feedJobs }
    return {
      servers,
      gateways,
      whole,
      ...jobsOfAll,
      subgraphs,
      seenSubgraphs,
      feedSubgraphs,
      roles,
      links,
      config,
      openStores: stores,
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

type Watched = Pick<Deployment, 'gateways' | 'jobs'> & Partial<Pick<Deployment, 'markJobs' | 'seenJobs' | 'feedJobs'>>

/** Undefined if the deployment has converged, or else the remaining work. */
export async function leftToDo({ gateways, jobs, markJobs = [], seenJobs = [], feedJobs = [] }: Watched): Promise<string | undefined> {
  const [ofGateways, ofJobs, ofMarkJobs, ofSeenJobs, ofFeedJobs] = await Promise.all(
    [gateways, jobs, markJobs, seenJobs, feedJobs].map((roles) => Promise.all(roles.map(metricsOf))),
  )
  const read = (of: typeof ofGateways, name: string): number[] => of?.map((metrics) => metrics?.get(name) ?? Number.NaN) ?? []
  const figures = {
    // A breaker checks once a second. Until then answers may lack a recovered store.
    'stores that count as down': read(ofGateways, 'tidemark_store_down'),
    'journaled calls': read(ofGateways, 'tidemark_journal_waiting_entries'),
    'dirty keys': read(ofJobs, 'tidemark_dirty_keys'),
    'log messages': read(ofJobs, 'tidemark_log_lag_messages'),
    ...(markJobs.length > 0 && {
      'stores of marks that count as down': read(ofGateways, 'tidemark_marks_store_down'),
      'journaled marks': read(ofGateways, 'tidemark_marks_journal_waiting_entries'),
      'dirty marks': read(ofMarkJobs, 'tidemark_dirty_marks'),
      'log messages of marks': read(ofMarkJobs, 'tidemark_marks_log_lag_messages'),
      'changes whose events wait': read(ofMarkJobs, 'tidemark_marks_outbox'),
    }),
    ...(seenJobs.length > 0 && {
      'log messages of plays': read(ofSeenJobs, 'tidemark_plays_log_lag_messages'),
      'shards to fold': read(ofSeenJobs, 'tidemark_folds_shards_left'),
    }),
    ...(feedJobs.length > 0 && {
      'stores of the feed that count as down': read(ofGateways, 'tidemark_feed_store_down'),
      'dirty keys of the feed': read(ofFeedJobs, 'tidemark_feed_dirty_keys'),
      'dirty counters': read(ofFeedJobs, 'tidemark_feed_dirty_counters'),
      'log messages of the feed': read(ofFeedJobs, 'tidemark_feed_log_lag_messages'),
    }),
  }
  const left = Object.entries(figures).filter(([, counts]) => counts.some((count) => count !== 0))
  return left.length === 0 ? undefined : left.map(([what, counts]) => `${counts.join(' + ')} ${what}`).join(', ')
}

/** Milliseconds until the deployment has converged. Rejects after `maxMs`. */
export async function waitUntilConverged(deployment: Watched, maxMs: number): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const left = await leftToDo(deployment)
    if (left === undefined) return performance.now() - begun
    if (performance.now() - begun > maxMs) throw new Error(`after ${Math.round(maxMs / 1_000)} s of quiet there are left: ${left}`)
    await sleep(100)
  }
}
