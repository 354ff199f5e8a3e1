/**
 * Facts about the Redis servers that a deployment should know before it trusts them: what loses data, what refuses to
 * work. One sentence per finding, each with what to do; an empty list is a clean bill.
 */
import type { Redis } from 'ioredis'
import { connect } from './connection.ts'
import type { RedisConnectionOptions } from './clients.ts'
import { isPassing } from './failures.ts'

export type RedisFinding = {
  /** `wrong`: it will fail or lose what was acknowledged. `risky`: it may, under some circumstance. */
  severity: 'wrong' | 'risky'
  /** host:port. */
  node: string
  sentence: string
}

const CLOCK_SKEW_MAX_MS = 1_000

/** Looks at every master. Rejects with HOT_STORE_UNAVAILABLE if one does not answer. `now` is the machine's clock. */
export async function checkRedis(options: RedisConnectionOptions, now: () => number = Date.now): Promise<RedisFinding[]> {
  const connection = connect(options)
  try {
    const findings: RedisFinding[] = []
    const masters = await connection.masters().catch(async (error: unknown) => {
      if (connection.isCluster && (await isNoCluster(options))) return undefined
      throw error
    })
    if (masters === undefined) return [{ severity: 'wrong', node: connection.address, sentence: NO_CLUSTER }]
    for (const node of masters) {
      const facts = await connection.insist(() => readFacts(node, now))
      const name = `${node.options.host}:${node.options.port}`
      findings.push(...judge(facts, connection.isCluster).map((finding) => ({ ...finding, node: name })))
    }
    return findings
  } finally {
    connection.close()
  }
}

const NO_CLUSTER = 'this server is no Cluster: unset stores.redis.cluster, and name one address'

/** A server that is none refuses what a Cluster's client asks first, and the client then says only that it got no answer. */
async function isNoCluster(options: RedisConnectionOptions): Promise<boolean> {
  const connection = connect({ ...options, urls: options.urls.slice(0, 1), cluster: false })
  try {
    const [node] = await connection.masters()
    return node !== undefined && parseInfo(await connection.insist(() => node.info('cluster'))).get('cluster_enabled') === '0'
  } catch {
    return false
  } finally {
    connection.close()
  }
}

type Facts = { info: Map<string, string>; config: Map<string, string>; skewMs: number }

async function readFacts(node: Redis, now: () => number): Promise<Facts> {
  const info = parseInfo(await node.info())
  // Managed servers often refuse CONFIG: then only what INFO tells is judged.
  const settings = await node
    .call('CONFIG', 'GET', 'appendfsync', 'min-replicas-to-write', 'cluster-require-full-coverage')
    .catch((error: unknown) => {
      if (isPassing(error)) throw error
      return []
    })
  const flat = (Array.isArray(settings) ? settings : Object.entries(settings as object).flat()).map(String)
  const config = new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])))
  const asked = now()
  const [seconds, microseconds] = await node.time()
  const answered = now()
  const theirs = Number(seconds) * 1_000 + Number(microseconds) / 1_000
  return { info, config, skewMs: Math.round(theirs - (asked + answered) / 2) }
}

function judge({ info, config, skewMs }: Facts, isCluster: boolean): Omit<RedisFinding, 'node'>[] {
  const findings: Omit<RedisFinding, 'node'>[] = []
  const say = (severity: RedisFinding['severity'], sentence: string): unknown => findings.push({ severity, sentence })
  const version = info.get('valkey_version') ?? info.get('redis_version') ?? 'unknown'
  if (Number.parseInt(version) < 7) say('wrong', `version ${version} has no sharded publish/subscribe: install Redis 7 or Valkey`)
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (policy !== 'noeviction')
    say('wrong', `maxmemory-policy is ${policy}, which drops what was acknowledged when memory is full: set noeviction`)
  if (info.get('aof_enabled') === '0')
    say('wrong', 'the append-only file is off, so a restart loses what was acknowledged since the last snapshot: set appendonly yes')
  if (info.get('aof_last_write_status') === 'err') say('wrong', 'the last write to the append-only file failed: free space on its disk')
  if (info.get('role') === 'slave') say('wrong', 'this is a replica and takes no writes: name its master')
  if (!isCluster && info.get('cluster_enabled') === '1') say('wrong', 'this server is a node of a Cluster: set stores.redis.cluster')
  if (isCluster && info.get('cluster_enabled') === '0') say('wrong', NO_CLUSTER)
  if (config.get('appendfsync') === 'everysec') {
    say('risky', 'appendfsync is everysec: a crash may lose the last two seconds of acknowledged writes; set always, or accept it')
  }
  if (config.get('appendfsync') === 'no')
    say(
      'wrong',
      'appendfsync is no: a crash of its machine may lose all that was acknowledged since the system last wrote to disk, half a minute or more; set always',
    )
  if (!config.has('appendfsync') && info.get('aof_enabled') === '1')
    say('risky', 'it does not tell its appendfsync (CONFIG is refused): see that it is always')
  if (Number(info.get('connected_slaves') ?? 0) > 0 && Number(config.get('min-replicas-to-write') ?? 0) === 0)
    say(
      'risky',
      'min-replicas-to-write is 0: if this master is killed and a replica takes over, writes are lost that the replica had not got yet, also during a split of the network; set 1, with min-replicas-max-lag 1, which keeps that to about a second',
    )
  if (isCluster && info.get('connected_slaves') === '0')
    say('risky', 'this master has no replica: if its machine is lost, so are its viewers’ unpersisted writes')
  if (isCluster && config.get('cluster-require-full-coverage') === 'yes')
    say(
      'risky',
      'cluster-require-full-coverage is yes: where one master is lost without a replica, all refuse, and not its regions only; set no',
    )
  if (info.get('maxmemory') === '0')
    say(
      'risky',
      'maxmemory is not set: when memory runs out the system kills Redis, where it would have refused writes; set it below what the machine has',
    )
  if (Math.abs(skewMs) > CLOCK_SKEW_MAX_MS) say('risky', `its clock is ${skewMs} ms off ours: run a time service on both machines`)
  return findings
}

function parseInfo(text: string): Map<string, string> {
  const pairs = text.split('\r\n').map((line) => line.split(/:(.*)/s))
  return new Map(pairs.flatMap(([name, value]) => (name !== undefined && value !== undefined ? [[name, value] as const] : [])))
}
