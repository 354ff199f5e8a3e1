/**
 * Facts about the Redis servers that a deployment should know in advance: settings that lose data or prevent operation. One sentence per
 * finding, each with the fix. An empty list means that nothing was found.
 */
import type { Redis } from 'ioredis'
import type { StoreFindingName } from '../../config/store-findings.ts'
import { connect } from './connection.ts'
import type { RedisConnectionOptions } from './clients.ts'
import { isPassing } from './failures.ts'

export type RedisFinding = {
  name: StoreFindingName
  /** `wrong`: it will fail or lose acknowledged data. `risky`: it may, in some circumstances. */
  severity: 'wrong' | 'risky'
  /** host:port. */
  node: string
  sentence: string
}

const CLOCK_SKEW_MAX_MS = 1_000

/** Examines every master. Rejects with HOT_STORE_UNAVAILABLE if one does not answer. `now` is the machine's clock. */
export async function checkRedis(options: RedisConnectionOptions, now: () => number = Date.now): Promise<RedisFinding[]> {
  const connection = connect(options)
  try {
    const findings: RedisFinding[] = []
    const masters = await connection.masters().catch(async (error: unknown) => {
      if (connection.isCluster && (await isNoCluster(options))) return undefined
      throw error
    })
    if (masters === undefined) return [{ severity: 'wrong', name: 'redis-cluster', node: connection.address, sentence: NO_CLUSTER }]
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

const NO_CLUSTER = 'this server is not a Cluster: unset stores.redis.cluster, and name one address'

/** A single server refuses the first requests of a Cluster client, which then reports only a missing answer. */
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

const SETTINGS = ['appendfsync', 'maxmemory-policy', 'min-replicas-to-write', 'cluster-require-full-coverage']

/** A refusal of one command. Without a password the server refuses every command: that is a failure, not a finding. */
function isRefusal(error: unknown): boolean {
  const message = error instanceof Error ? error.message : ''
  return /^(NOPERM|ERR unknown command)/i.test(message)
}

type Facts = { info: Map<string, string>; config: Map<string, string>; skewMs: number }

async function readFacts(node: Redis, now: () => number): Promise<Facts> {
  // Managed servers often refuse CONFIG, and some accounts INFO. Only the available answer is judged then.
  const orRefused =
    <T>(nothing: T) =>
    (error: unknown): T => {
      if (isPassing(error) || !isRefusal(error)) throw error
      return nothing
    }
  const info = parseInfo(await node.info().catch(orRefused('')))
  const settings = await node.call('CONFIG', 'GET', ...SETTINGS).catch(orRefused<unknown>([]))
  const flat = (Array.isArray(settings) ? settings : Object.entries(settings as object).flat()).map(String)
  const config = new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])))
  const asked = now()
  const time = await node.time().catch(orRefused(undefined))
  const answered = now()
  if (time === undefined) return { info, config, skewMs: 0 }
  const theirs = Number(time[0]) * 1_000 + Number(time[1]) / 1_000
  return { info, config, skewMs: Math.round(theirs - (asked + answered) / 2) }
}

function judge({ info, config, skewMs }: Facts, isCluster: boolean): Omit<RedisFinding, 'node'>[] {
  const findings: Omit<RedisFinding, 'node'>[] = []
  const say = (severity: RedisFinding['severity'], name: StoreFindingName, sentence: string): unknown =>
    findings.push({ severity, name, sentence })
  if (info.size === 0) {
    say('risky', 'redis-unchecked', 'it hides its settings (INFO is refused): make sure that it has noeviction and appendonly yes')
    return findings
  }
  const version = info.get('valkey_version') ?? info.get('redis_version') ?? 'unknown'
  if (Number.parseInt(version) < 7)
    say('wrong', 'redis-version', `version ${version} has no sharded publish/subscribe: install Redis 7 or Valkey`)
  const policy = config.get('maxmemory-policy') ?? info.get('maxmemory_policy')
  if (policy === undefined) say('risky', 'redis-unchecked', 'it hides its maxmemory-policy: make sure that it is noeviction')
  else if (policy !== 'noeviction')
    say('wrong', 'redis-eviction', `maxmemory-policy is ${policy}, which drops acknowledged writes when memory is full: set noeviction`)
  if (info.get('aof_enabled') === '0')
    say(
      'wrong',
      'redis-no-aof',
      'the append-only file is off, so a restart loses the writes acknowledged since the last snapshot: set appendonly yes',
    )
  if (info.get('aof_last_write_status') === 'err')
    say('wrong', 'redis-aof-failing', 'the last write to the append-only file failed: free space on its disk')
  if (info.get('role') === 'slave')
    say('wrong', 'redis-replica', 'this is a replica: its reads are stale, and writes to it are refused or lost: name its master')
  if (!isCluster && info.get('cluster_enabled') === '1')
    say('wrong', 'redis-cluster', 'this server is a node of a Cluster: set stores.redis.cluster')
  if (isCluster && info.get('cluster_enabled') === '0') say('wrong', 'redis-cluster', NO_CLUSTER)
  if (config.get('appendfsync') === 'everysec') {
    say(
      'risky',
      'redis-fsync-everysec',
      'appendfsync is everysec: a crash may lose the last two seconds of acknowledged writes; set always, or accept it',
    )
  }
  if (config.get('appendfsync') === 'no')
    say(
      'wrong',
      'redis-fsync-no',
      'appendfsync is no: a crash of its machine may lose all writes acknowledged since the system last wrote to disk, half a minute or more; set always',
    )
  if (!config.has('appendfsync') && info.get('aof_enabled') === '1')
    say('risky', 'redis-unchecked', 'it hides its appendfsync (CONFIG is refused): make sure that it is always')
  if (Number(info.get('connected_slaves') ?? 0) > 0 && Number(config.get('min-replicas-to-write') ?? 0) === 0)
    say(
      'risky',
      'redis-failover',
      'min-replicas-to-write is 0: if this master is killed and a replica takes over, writes that had not reached the replica are lost, also during a network split; set 1, with min-replicas-max-lag 1, which keeps that to about a second',
    )
  if (isCluster && info.get('connected_slaves') === '0')
    say('risky', 'redis-no-replica', 'this master has no replica: if its machine is lost, so are its viewers’ unpersisted writes')
  if (isCluster && config.get('cluster-require-full-coverage') === 'yes')
    say(
      'risky',
      'redis-full-coverage',
      'cluster-require-full-coverage is yes: if one master is lost without a replica, all masters refuse commands, not only its regions; set no',
    )
  if (info.get('maxmemory') === '0')
    say(
      'risky',
      'redis-no-maxmemory',
      'maxmemory is not set: when memory runs out, the system kills Redis, which could have refused writes instead; set it below the memory of the machine',
    )
  if (Math.abs(skewMs) > CLOCK_SKEW_MAX_MS)
    say('risky', 'redis-clock', `its clock differs by ${skewMs} ms: run a time service on both machines`)
  return findings
}

function parseInfo(text: string): Map<string, string> {
  const pairs = text.split('\r\n').map((line) => line.split(/:(.*)/s))
  return new Map(pairs.flatMap(([name, value]) => (name !== undefined && value !== undefined ? [[name, value] as const] : [])))
}
