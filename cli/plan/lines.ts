/** The lines that `tidemark plan` prints. */
import type { Config } from '../../config/config.ts'
import type { Demand } from './demand.ts'
import { ASSUMED, type Estimate, type Prices } from './estimate.ts'
import { flowOf } from './flow.ts'

export function linesOf(demand: Demand, found: Estimate, config: Pick<Config, 'history' | 'stores'>, prices: Prices): string[] {
  const { rates, flow, gateways, jobs, redis, mysql, kafka, cost } = found
  const rows: [string, string][] = [
    ['reports', `${short(rates.reports)}/s`],
    ['lookups', `${short(rates.lookups)}/s`],
    ['likes', `${short(rates.likes)}/s`],
    ['viewers who watch at once', short(rates.watching)],
    ['reports that become one row', flow.collapse.toFixed(1)],
    ['rows to MySQL', `${short(flow.rowsPerSecond)}/s in at most ${short(flow.statementsPerSecond)} statements/s`],
    ['messages to Kafka', `${short(flow.messagesPerSecond)}/s with ${short(flow.keysPerMessage)} keys`],
    ['gateways', `${gateways.processes} processes, ${bytes(gateways.memoryGb)}`],
    ['jobs', `${jobs.processes} processes, ${bytes(jobs.memoryGb)}`],
    ['Redis', `${redis.processes} nodes with replicas, ${bytes(redis.memoryGb)}`],
    ['MySQL', `${short(mysql.rows)} records, ${bytes(mysql.diskGb)} of disk, ${mysql.cores === 1 ? 'one core' : `${mysql.cores} cores`}`],
    ['Kafka', `${kafka.partitions} partitions, ${bytes(kafka.diskGb)} of disk`],
    ['all', `${cost.cores} cores, ${bytes(cost.memoryGb)} of memory, ${bytes(cost.diskGb)} of disk`],
    ['cost', `${short(cost.perMonth)} per month`],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    'In the busiest second:',
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`),
    ...adviceOf(demand, found, config).map((text) => `Advice: ${text}`),
    'Assumed:',
    ...assumptions(demand, config, prices).map((text) => `  ${text}`),
  ]
}

/** Settings that the demand makes worth a change. */
function adviceOf(
  { records }: Demand,
  { rates, flow, gateways: { processes: gateways }, redis, kafka }: Estimate,
  config: Pick<Config, 'history' | 'stores'>,
): string[] {
  const { history, stores } = config
  const advice: string[] = []
  const sticky = flowOf({ reports: rates.reports / gateways, watching: rates.watching / gateways }, 1, config)
  const windowSeconds = history.flushAgeMaxMs / 1_000
  if (flow.windowSeconds < windowSeconds * 0.9) {
    advice.push(
      `a region has history.flushKeysMax (${history.flushKeysMax}) keys after ${digits(flow.windowSeconds)} s, before its window of ${windowSeconds} s ends: with a larger flushKeysMax, fewer rows are written`,
    )
  }
  if (sticky.collapse > flow.collapse * 1.5) {
    advice.push(
      `a viewer's reports reach ${gateways} gateways: with a proxy that sends each viewer to one of them, ${digits(sticky.collapse)} reports become one row`,
    )
  }
  if (flow.keysHeld / gateways > history.aggregatorKeysMax) {
    advice.push(
      `a gateway collects ${short(flow.keysHeld / gateways)} keys: raise history.aggregatorKeysMax (${history.aggregatorKeysMax}), or the sweeper persists the rest`,
    )
  }
  if (Math.min(records, history.timelineCap) > ASSUMED.compactEntries) {
    advice.push(
      `Redis has ${Math.min(records, history.timelineCap)} records of each viewer: with history.timelineCap ${ASSUMED.compactEntries} it needs less than half the bytes per record, and older records come from MySQL`,
    )
  }
  const masters = redis.processes / ASSUMED.copies
  const most = Math.max(masters, kafka.partitions)
  if (most > stores.regions) {
    advice.push(
      `stores.regions (${stores.regions}) is less than the ${masters} masters of Redis or the ${kafka.partitions} partitions of Kafka: a region uses one master and one partition, so the others stay empty. Set stores.regions to at least ${most} before the first start`,
    )
  }
  if (stores.kafka !== undefined && stores.kafka.partitions > stores.regions) {
    advice.push(
      `stores.kafka.partitions (${stores.kafka.partitions}) exceeds stores.regions (${stores.regions}): some partitions stay empty`,
    )
  }
  return advice
}

function assumptions(demand: Demand, { history, stores }: Pick<Config, 'history' | 'stores'>, prices: Prices): string[] {
  return [
    `${short(demand.viewers)} viewers, ${short(demand.actives)} of them on one day, ${demand.records} records and ${short(demand.likesStored / demand.viewers)} likes each`,
    `${demand.watchMinutes} minutes watched, ${demand.pages} pages of ${demand.lookupsPerPage} lookups and ${demand.likes === 1 ? 'one like' : `${demand.likes} likes`} a day, a report every ${demand.heartbeatSeconds} s`,
    `the busiest second has ${demand.peak} times the mean`,
    `a viewer's reports reach any gateway; history.flushAgeMaxMs ${history.flushAgeMaxMs}, flushKeysMax ${history.flushKeysMax}, timelineCap ${history.timelineCap}; stores.regions ${stores.regions}`,
    `cores are busy for ${ASSUMED.busyMax * 100}%; a process takes ${ASSUMED.processGb} GB; a Redis node has at most ${ASSUMED.redisNodeGb} GB of data, times ${ASSUMED.redisOverhead} for its buffers`,
    `${ASSUMED.copies} copies in Redis and Kafka, one in MySQL; the log keeps ${ASSUMED.logDays} days; ${ASSUMED.recentLikes * 100}% of the likes are not archived yet`,
    `a month costs ${prices.core} per core, ${prices.memoryGb} per GB of memory and ${prices.diskGb} per GB of disk`,
    'CPU and bytes as measured in bench/RESULTS.md, on its machine; not counted: the feed, filters, open connections, CPU and memory of Kafka, and memory of MySQL',
  ]
}

const UNITS = [
  { from: 1e9, name: ' billion' },
  { from: 1e6, name: ' million' },
]

function short(value: number): string {
  for (const { from, name } of UNITS) if (value >= from) return `${digits(value / from)}${name}`
  return digits(value)
}

function bytes(gb: number): string {
  return gb >= 1_000 ? `${digits(gb / 1_000)} TB` : gb >= 1 ? `${digits(gb)} GB` : `${digits(gb * 1_000)} MB`
}

/** Three digits. */
function digits(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}
