/**
 * A whole deployment of the distributed shape: own servers, any number of roles on them, and proxies in between where
 * networks are to be cut: one per role for Redis and for MariaDB, one for all for Kafka, which has one address to give.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { makeConfig, type Config } from '../../core/config.ts'
import { openStores, type OpenStores } from '../../stores/open.ts'
import { migrateStores } from '../../stores/operate.ts'
import { OWN_SERVERS, lowPorts, makeOwnServers, startOwnServers, type OwnServerName, type OwnServers } from './own-servers.ts'
import { makeRole, metricsOf, type Role } from './role.ts'
import { makeTcpProxy, type TcpProxy } from './tcp-proxy.ts'

export type DeploymentOptions = {
  /** Default 1. */
  gateways?: number
  /** Default 1. */
  jobs?: number
  /** `tidemark job thumbup`. Default 0. */
  thumbupJobs?: number
  /** `tidemark subgraph history`. Default 0. */
  subgraphs?: number
  /** Nodes of a Redis Cluster to use, which whoever started it ends. Default: one Redis, of the deployment's own. */
  cluster?: readonly string[]
  /** Default false: nothing stands between roles and servers. */
  proxies?: boolean
  /** Settings of all roles, without `stores` but for its `regions`. */
  settings?: { history?: Record<string, unknown>; stores?: { regions?: number }; [section: string]: unknown }
}

/** The network between a server and a role, or all roles. */
export type Link = { name: string; server: OwnServerName; proxy: TcpProxy }

export type Deployment = {
  servers: OwnServers
  gateways: Role[]
  jobs: Role[]
  thumbupJobs: Role[]
  subgraphs: Role[]
  roles: Role[]
  links: Link[]
  /** As the roles', but straight to the servers. */
  config: Config
  /** Opens the stores past all proxies. */
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
  const servers = await makeOwnServers({ kafkaAddress: async (port) => `127.0.0.1:${await link('kafka', 'all', port)}` })
  const roles: Role[] = []
  async function remove(): Promise<void> {
    await Promise.all(roles.map((role) => role.kill()))
    await Promise.all(links.map(({ proxy }) => proxy.close()))
    await servers.remove()
  }

  function settingsOf(name: string, redisPort: number, mariadbPort: number): Record<string, unknown> {
    return {
      ...options.settings,
      history: options.settings?.history ?? {},
      stores: {
        ...options.settings?.stores,
        data: join(servers.folder, name, 'data'),
        redis: options.cluster === undefined ? { urls: [`redis://127.0.0.1:${redisPort}`] } : { urls: options.cluster, cluster: true },
        kafka: { brokers: [`127.0.0.1:${servers.kafka.port}`] },
        mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${mariadbPort}/tidemark` },
      },
    }
  }

  async function makeRoles(command: readonly string[], count: number, kind = command[0]): Promise<Role[]> {
    const ports = await lowPorts(count)
    return Promise.all(
      ports.map(async (port, index) => {
        const name = `${kind}-${index + 1}`
        const settings = settingsOf(name, await link('redis', name, servers.redis.port), await link('mariadb', name, servers.mariadb.port))
        const role = makeRole({ name, command, port, folder: join(servers.folder, name), settings })
        roles.push(role)
        return role
      }),
    )
  }

  try {
    await startOwnServers(servers, options.cluster === undefined ? OWN_SERVERS : ['kafka', 'mariadb'])
    const config = makeConfig([{ name: 'deployment', values: settingsOf('direct', servers.redis.port, servers.mariadb.port) }])
    await migrateStores(config, systemClock, silent)
    const gateways = await makeRoles(['gateway'], options.gateways ?? 1)
    const jobs = await makeRoles(['job', 'history'], options.jobs ?? 1)
    const thumbupJobs = await makeRoles(['job', 'thumbup'], options.thumbupJobs ?? 0, 'thumbup-job')
    const subgraphs = await makeRoles(['subgraph', 'history'], options.subgraphs ?? 0)
    await Promise.all(roles.map((role) => role.start()))
    const open = () => openStores(config, systemClock, silent)
    return { servers, gateways, jobs, thumbupJobs, subgraphs, roles, links, config, openStores: open, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Is everything where it belongs? Undefined, or what is left to do. */
export async function leftToDo({ gateways, jobs }: Pick<Deployment, 'gateways' | 'jobs'>): Promise<string | undefined> {
  const [ofGateways, ofJobs] = await Promise.all([Promise.all(gateways.map(metricsOf)), Promise.all(jobs.map(metricsOf))])
  const waiting = ofGateways.map((metrics) => metrics?.get('tidemark_journal_waiting_entries') ?? Number.NaN)
  const dirty = ofJobs.map((metrics) => metrics?.get('tidemark_dirty_keys') ?? Number.NaN)
  const lag = ofJobs.map((metrics) => metrics?.get('tidemark_log_lag_messages') ?? Number.NaN)
  // A breaker looks again once a second: until then answers may do without a store that is back.
  const down = ofGateways.map((metrics) => metrics?.get('tidemark_store_down') ?? Number.NaN)
  if ([...waiting, ...dirty, ...lag, ...down].every((count) => count === 0)) return undefined
  return `${down.join(' + ')} stores that count as down, ${waiting.join(' + ')} journaled calls, ${dirty.join(' or ')} dirty keys, ${lag.join(' or ')} log messages`
}

/** Milliseconds until everything is where it belongs; rejects after `maxMs`. */
export async function waitUntilConverged(deployment: Pick<Deployment, 'gateways' | 'jobs'>, maxMs: number): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const left = await leftToDo(deployment)
    if (left === undefined) return performance.now() - begun
    if (performance.now() - begun > maxMs) throw new Error(`after ${Math.round(maxMs / 1_000)} s of quiet there are left: ${left}`)
    await sleep(100)
  }
}
