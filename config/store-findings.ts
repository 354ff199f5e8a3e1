/**
 * Findings about the servers of the stores, by stable names: `tidemark doctor`, `/health/ready`, the metric `tidemark_store_findings` and
 * `stores.allow` use them. This module imports nothing.
 */
export const STORE_FINDINGS = {
  'redis-version': 'The server is older than Redis 7.',
  'redis-eviction': 'maxmemory-policy drops acknowledged writes when memory is full.',
  'redis-no-aof': 'Without an append-only file a restart loses acknowledged writes.',
  'redis-aof-failing': 'The last write to the append-only file failed.',
  'redis-replica': 'The address is that of a replica: its reads are stale, and writes it takes are lost.',
  'redis-cluster': 'stores.redis.cluster does not fit the server.',
  'redis-fsync-no': 'appendfsync no: a crash of the machine loses half a minute of acknowledged writes.',
  'redis-fsync-everysec': 'appendfsync everysec: a crash may lose two seconds of acknowledged writes.',
  'redis-failover': 'min-replicas-to-write 0: a failover may lose acknowledged writes.',
  'redis-no-replica': 'A master of the Cluster has no replica.',
  'redis-full-coverage': 'One lost master of the Cluster makes all others refuse.',
  'redis-no-maxmemory': 'maxmemory is not set: the system may kill Redis when memory runs out.',
  'redis-clock': 'The clock of the server is off.',
  'redis-unchecked': 'The server hides settings that may lose data (it refuses INFO or CONFIG).',
  'kafka-topic': 'A topic is missing, or is not as configured.',
  'kafka-one-copy': 'A topic has one copy of each partition.',
  'kafka-min-insync': 'min.insync.replicas of a topic fits its copies badly.',
  'kafka-partitions': 'There are more partitions than regions.',
  'mysql-version': 'The server is older than the oldest supported version.',
  'mysql-schema': 'The schema is missing or of another version.',
  'mysql-durability': 'innodb_flush_log_at_trx_commit is not 1: a crash loses acknowledged writes.',
  'mysql-binlog': 'The binary log refuses the writes of Tidemark, or replicas may differ after a crash.',
  'mysql-feed': 'The account may not follow the binary log.',
  'mysql-sql-mode': 'sql_mode is not strict.',
  'mysql-read-only': 'The server is read-only.',
  'mysql-packet': 'max_allowed_packet is too small for the largest filter.',
  'mysql-clock': 'The clock of the server is off.',
  'live-config': 'The newest live version is not valid, or cannot be read.',
  'memcached-down': 'A node of the cache does not answer.',
  'memcached-unfit': 'A node of the cache answers, and is no Memcached.',
  'memcached-version': 'A node of the cache is older than Memcached 1.6.',
  'memcached-slow': 'A node of the cache answers so late that reads skip it.',
  'memcached-item-size': 'A node of the cache refuses large values.',
  'memcached-full': 'A node of Main evicts values, or a node refuses values because it is full.',
  'memcached-connections': 'A node of the cache is near its limit of connections.',
  unfit: 'The server refuses Tidemark, or holds data of another deployment.',
  unreachable: 'The server does not answer.',
} as const

export type StoreFindingName = keyof typeof STORE_FINDINGS

/** The names that `stores.allow` accepts. A server that does not answer stops no start. */
export const ALLOWABLE_FINDINGS = Object.keys(STORE_FINDINGS).filter((name) => name !== 'unreachable') as [
  StoreFindingName,
  ...StoreFindingName[],
]
