/**
 * The resources of a distributed deployment for a demand. All figures are for the busiest second. No core is planned to be busier than
 * `ASSUMED.busyMax`: a process may fail, and its work moves to the others.
 */
import type { Config } from '../../config/config.ts'
import { ratesOf, type Demand, type Rates } from './demand.ts'
import { FIGURES, type Figure } from './figures.ts'
import { flowOf, type Flow } from './flow.ts'

/** Per month, in the same currency. */
export type Prices = { core: number; memoryGb: number; diskGb: number }

export type Estimate = {
  rates: Rates
  flow: Flow
  gateways: Role
  jobs: Role
  redis: Role & { /** Cores of all nodes by writes and reads. */ busy: number }
  mysql: { cores: number; diskGb: number; rows: number; likeRows: number }
  kafka: { partitions: number; bytesPerSecond: number; diskGb: number }
  cost: { cores: number; memoryGb: number; diskGb: number; perMonth: number }
}

/** Processes with one core each, and the memory of all of them. */
type Role = { processes: number; memoryGb: number }

export const ASSUMED = {
  /** A core is planned to be this busy at most. */
  busyMax: 0.5,
  /** Resident memory of a process of Tidemark under load. */
  processGb: 0.4,
  /** A Redis node has at most this much data, so that a replica is filled in minutes. */
  redisNodeGb: 32,
  /** Redis memory beside the data: fragmentation, buffers, the rewrite of its file. */
  redisOverhead: 1.5,
  /** Copies of each node of Redis, and of each partition. */
  copies: 2,
  /** Timelines with more entries take more bytes per entry. */
  compactEntries: 128,
  /** Timelines with fewer entries, too. */
  shortEntries: 50,
  /** Days for which the log keeps messages. */
  logDays: 7,
  /** The part of the stored likes that is too young for the archive. */
  recentLikes: 0.05,
} as const

const GB = 1e9
const CORES_PER_US = 1e-6

export function estimate(demand: Demand, config: Pick<Config, 'history' | 'stores' | 'businesses'>, prices: Prices): Estimate {
  const rates = ratesOf(demand)
  const writes = rates.reports + rates.likes
  const gatewayCores = busy(writes, FIGURES.gatewayPerReport) + busy(rates.lookups, FIGURES.gatewayPerLookup)
  const gateways = roleOf(gatewayCores)
  const flow = flowOf(rates, gateways.processes, config)
  const jobs = roleOf(busy(flow.rowsPerSecond + rates.likes, FIGURES.jobPerRow))
  const redisCores = busy(writes, FIGURES.redisPerReport) + busy(rates.lookups, FIGURES.redisPerLookup)
  const redisGb = (redisBytes(demand, config) * ASSUMED.redisOverhead) / GB
  const nodes = Math.max(1, Math.ceil(redisGb / ASSUMED.redisNodeGb), Math.ceil(redisCores / ASSUMED.busyMax))
  const redis = { processes: nodes * ASSUMED.copies, memoryGb: redisGb * ASSUMED.copies, busy: redisCores }
  const mysql = {
    cores: Math.max(1, Math.ceil(busy(flow.rowsPerSecond + rates.likes, FIGURES.mysqlPerRow) / ASSUMED.busyMax)),
    ...mysqlDisk(demand),
  }
  const bytesPerSecond = logBytes(flow.messagesPerSecond, flow.rowsPerSecond + rates.likes)
  const kafka = {
    // A partition has one job at a time. Spare partitions let jobs be added.
    partitions: Math.max(12, jobs.processes * 4),
    bytesPerSecond,
    diskGb: ((bytesPerSecond / demand.peak) * 86_400 * ASSUMED.logDays * ASSUMED.copies) / GB,
  }
  const cores = gateways.processes + jobs.processes + redis.processes + mysql.cores
  const memoryGb = gateways.memoryGb + jobs.memoryGb + redis.memoryGb
  const diskGb = mysql.diskGb + kafka.diskGb + redis.memoryGb
  const perMonth = cores * prices.core + memoryGb * prices.memoryGb + diskGb * prices.diskGb
  return { rates, flow, gateways, jobs, redis, mysql, kafka, cost: { cores, memoryGb, diskGb, perMonth } }
}

/** Cores that are busy with this many units a second. */
function busy(perSecond: number, { value }: Figure): number {
  return perSecond * value * CORES_PER_US
}

function roleOf(cores: number): Role {
  const processes = Math.max(2, Math.ceil(cores / ASSUMED.busyMax))
  return { processes, memoryGb: processes * ASSUMED.processGb }
}

/** Bytes of all hot data. */
export function redisBytes(
  demand: Pick<Demand, 'viewers' | 'records' | 'likesStored' | 'subjects'>,
  { history, businesses }: Pick<Config, 'history' | 'businesses'>,
): number {
  const { viewers, records, likesStored, subjects } = demand
  const entries = Math.min(records, history.timelineCap)
  const perRecord = perRecordOf(entries)
  const likes = Math.min(likesStored / viewers, Math.max(...businesses.map(({ thumbup }) => thumbup.likesCap)))
  const perLike = likes > ASSUMED.compactEntries ? FIGURES.redisBytesPerLikeLong : FIGURES.redisBytesPerLike
  const ofLikers = likes === 0 ? 0 : viewers * (FIGURES.redisBytesPerLiker.value + likes * perLike.value)
  return viewers * entries * perRecord.value + ofLikers + subjects * FIGURES.redisBytesPerCount.value
}

/** Bytes of the log, at most. */
export function logBytes(messages: number, keys: number): number {
  return messages * FIGURES.kafkaBytesPerMessage.value + keys * FIGURES.kafkaBytesPerKey.value
}

/** The fixed part of a timeline counts more if there are few entries. */
function perRecordOf(entries: number): Figure {
  if (entries > ASSUMED.compactEntries) return FIGURES.redisBytesPerRecordLong
  return entries < ASSUMED.shortEntries ? FIGURES.redisBytesPerRecordShort : FIGURES.redisBytesPerRecord
}

function mysqlDisk({ viewers, records, likesStored }: Demand): { diskGb: number; rows: number; likeRows: number } {
  const rows = viewers * records
  const likeRows = likesStored * ASSUMED.recentLikes
  const archived = likesStored - likeRows
  const bytes =
    rows * FIGURES.mysqlBytesPerRecord.value +
    likeRows * FIGURES.mysqlBytesPerLike.value +
    archived * FIGURES.mysqlBytesPerArchivedLike.value
  return { rows, likeRows, diskGb: bytes / GB }
}
