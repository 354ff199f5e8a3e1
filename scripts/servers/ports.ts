/**
 * The ports and addresses of the servers that `scripts/services` starts, in one place. All listen on 127.0.0.1 only.
 * The usual ports (6379, 9092, 3306, 11211) stay free, and so does the range that systems assign by themselves (32768 and up).
 *
 * | port          | server                                                 |
 * |---------------|--------------------------------------------------------|
 * | 17379         | redis: one Redis                                       |
 * | 17401 – 17406 | cluster: three masters, then three replicas at first   |
 * | 17411 – 17416 | cluster: the buses between its nodes                   |
 * | 17092, 17093  | kafka: brokers' clients, the controller                |
 * | 17306         | mariadb                                                |
 * | 17211         | memcached                                              |
 *
 * `TIDEMARK_SERVICES_PORTS=18000` moves all of them to 18379, 18401 …, so that two clones run on one machine.
 */
export const SERVER_NAMES = ['redis', 'cluster', 'kafka', 'mariadb', 'memcached'] as const
export type ServerName = (typeof SERVER_NAMES)[number]

export const PORT_BASE = 17_000
export const CLUSTER_NODES = 6

export type Ports = {
  redis: number
  cluster: { port: number; busPort: number }[]
  kafka: { port: number; controllerPort: number }
  mariadb: number
  memcached: number
}

export function portsFrom(base: number): Ports {
  const cluster = Array.from({ length: CLUSTER_NODES }, (_, node) => ({ port: base + 401 + node, busPort: base + 411 + node }))
  return { redis: base + 379, cluster, kafka: { port: base + 92, controllerPort: base + 93 }, mariadb: base + 306, memcached: base + 211 }
}

/** The base from the environment. Throws if it is not a usable number. */
export function portBase(environment: NodeJS.ProcessEnv): number {
  const text = environment['TIDEMARK_SERVICES_PORTS']
  if (text === undefined || text === '') return PORT_BASE
  const base = Number(text)
  if (Number.isInteger(base) && base >= 1_024 && base <= 65_000) return base
  throw new Error(`TIDEMARK_SERVICES_PORTS is "${text}": set a whole number from 1024 to 65000, such as 18000`)
}

/** The addresses for the configuration of a client. */
export type Addresses = Record<ServerName, string>

export function addressesOf(ports: Ports): Addresses {
  return {
    redis: `redis://127.0.0.1:${ports.redis}`,
    cluster: ports.cluster.map((node) => `redis://127.0.0.1:${node.port}`).join(','),
    kafka: `127.0.0.1:${ports.kafka.port}`,
    mariadb: `mysql://tidemark:tidemark@127.0.0.1:${ports.mariadb}/tidemark`,
    memcached: `127.0.0.1:${ports.memcached}`,
  }
}
