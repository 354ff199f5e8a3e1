/**
 * A small site on a real deployment, to compare the planner with: one gateway, one job, Redis, Kafka and MariaDB. Viewers have records, then
 * players report in a random order, one report a request. Then viewers read pages. The result has what the deployment did and used.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { seededRandom } from '../../core/random.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../deployment/deployment.ts'
import { metricsOf } from '../deployment/role.ts'
import { shuffled } from '../shuffled.ts'

export type SmallSite = {
  viewers: number
  recordsEach: number
  /** `history.flushAgeMaxMs`. */
  windowMs: number
}

/** Sends requests until `seconds` are over or a body is undefined, and resolves with their number and the duration. */
export type Load = (
  url: string,
  headers: Record<string, string>,
  body: () => string | undefined,
  seconds: number,
) => Promise<{ requests: number; seconds: number }>

export type Flowed = { keys: number; messages: number; rows: number; statements: number }

export type Used = { redisBytes: number; mysqlBytes: number; kafkaBytes: number }

const BATCH = 500
const DURATION = 1_800_000
const CONVERGED_MAX_MS = 120_000

const ONE = 'mutation ($r: ReportProgressInput!) { reportProgress(input: $r) { outcome } }'
const MANY = 'mutation ($r: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $r }) { results { outcome } } }'
const PAGE = '{ subjects(business: "video", ids: $ids) { id viewerProgress { position } viewerMark likeCount } }'
const SERVICE = { 'x-viewer-id': 'planner', 'x-viewer-scopes': 'progress:write-any' }

export type RunningSite = {
  deployment: Deployment
  /** Before there was any record. */
  empty: Used
  /** Each player reports its own subject, in a random order that repeats. The plan takes players to be independent. */
  report(seconds: number): Promise<{ reports: number; seconds: number; flowed: Flowed }>
  /** Viewers read pages of `ids` subjects, with three fields each. */
  read(seconds: number, ids: number): Promise<{ pages: number }>
  used(): Promise<Used>
  remove(): Promise<void>
}

export async function startSmallSite({ viewers, recordsEach, windowMs }: SmallSite, load: Load): Promise<RunningSite> {
  const settings = {
    history: { flushAgeMaxMs: windowMs, sweepAfterMs: 60_000 },
    // The plan has no staged plays, and nothing counts as played here.
    businesses: [{ number: 1, name: 'video', entity: 'Video', playedFrom: 2 ** 31 - 1 }],
  }
  const deployment = await startDeployment({ settings })
  const { url } = deployment.gateways[0] as (typeof deployment.gateways)[number]
  const begun = Date.now()
  const reportOf = (place: number, round: number) => ({
    viewer: String(1 + (place % viewers)),
    business: 'video',
    id: String(1 + Math.floor(place / viewers)),
    position: 60_000 + round,
    duration: DURATION,
    viewedAt: begun + round,
    device: 'tv',
  })
  const converge = () => waitUntilConverged(deployment, CONVERGED_MAX_MS)

  async function fill(): Promise<void> {
    const count = viewers * recordsEach
    let next = 0
    await load(
      url,
      SERVICE,
      () => {
        if (next >= count) return undefined
        const r = Array.from({ length: Math.min(BATCH, count - next) }, () => reportOf(next++, 0))
        return JSON.stringify({ query: MANY, variables: { r } })
      },
      600,
    )
    await converge()
  }

  let empty: Used
  try {
    empty = await usedBy(deployment)
    await fill()
  } catch (error) {
    await deployment.remove()
    throw error
  }

  return {
    deployment,
    empty,
    async report(seconds) {
      const before = await flowOf(deployment)
      let next = 0
      const count = viewers * recordsEach
      const order = shuffled(count, seededRandom(count))
      const sent = await load(
        url,
        SERVICE,
        () => JSON.stringify({ query: ONE, variables: { r: reportOf(order[next % count] as number, 1 + Math.floor(next++ / count)) } }),
        seconds,
      )
      await converge()
      const after = await flowOf(deployment)
      const flowed = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Flowed]]))
      return { reports: sent.requests, seconds: sent.seconds, flowed: flowed as Flowed }
    },
    async read(seconds, ids) {
      let next = 0
      const page = () => {
        const list = Array.from({ length: ids }, () => String(1 + (next++ % (recordsEach * 2))))
        return JSON.stringify({ query: PAGE.replace('$ids', JSON.stringify(list)) })
      }
      const { requests } = await load(url, { 'x-viewer-id': '1' }, page, seconds)
      return { pages: requests }
    },
    used: () => usedBy(deployment),
    remove: () => deployment.remove(),
  }
}

async function flowOf({ roles }: Deployment): Promise<Flowed> {
  const metrics = await Promise.all(roles.map(metricsOf))
  const sum = (name: string) => metrics.reduce((total, each) => total + (each?.get(name) ?? 0), 0)
  return {
    keys: sum('tidemark_aggregator_flushed_keys_total'),
    messages: sum('tidemark_flush_messages_total'),
    rows: sum('tidemark_mysql_rows_total'),
    statements: sum('tidemark_mysql_statements_total'),
  }
}

async function usedBy({ servers, config }: Deployment): Promise<Used> {
  const redis = new Redis(servers.redis.port)
  const mysql = await createConnection({ uri: config.stores.mysql?.url })
  try {
    const memory = /used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1]
    await mysql.query('ANALYZE TABLE history')
    const [rows] = await mysql.query<RowDataPacket[]>(
      "SELECT data_length + index_length AS bytes FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'history'",
    )
    return { redisBytes: Number(memory), mysqlBytes: Number(rows[0]?.['bytes']), kafkaBytes: bytesOfLogs(join(servers.folder, 'kafka')) }
  } finally {
    redis.disconnect()
    await mysql.end()
  }
}

/** Bytes of the messages of flushes. */
function bytesOfLogs(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const logs = files.filter((file) => file.includes('tidemark.flushes-') && file.endsWith('.log'))
  return logs.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}
