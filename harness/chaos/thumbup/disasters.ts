/**
 * Disasters, one at a time, under load: the killed servers, the required answers meanwhile, and the state afterwards. The figures of a
 * disaster are its calls, errors, statements per second at the database, and the time until the deployment has converged.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../core/clock.ts'
import { openDatabase, type Database } from '../../../stores/mysql/database.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../deployment/deployment.ts'
import type { OwnServerName } from '../../deployment/own-servers.ts'
import { metricsOf, type Role } from '../../deployment/role.ts'
import type { Call } from '../calls.ts'
import { makeTally } from '../history/tally.ts'
import { THUMBUP } from './chaos.ts'
import { makeLedger, type Ledger } from './ledger.ts'
import { verifyMarks, type MarkVerification } from './verify.ts'
import { startMarkWriters } from './writers.ts'
import { REGISTER } from './writer-options.ts'

export type Disaster = {
  title: string
  /** Killed at once, and started again together. */
  servers: readonly OwnServerName[]
  /** True if the job is killed. */
  job?: boolean
  /** The stores that `extensions.degraded` must name in answers that need them. Absent: answers are complete. */
  names?: readonly string[]
  /** The duration in milliseconds in the short form. A log outage is noticed after a flush has retried for five seconds. */
  shortMs: number
}

export const DISASTERS: readonly Disaster[] = [
  // The first one: later, the hot store knows all viewers and counts, and no answer lacks the record store.
  { title: 'MariaDB down', servers: ['mariadb'], names: ['recordStore'], shortMs: 4_000 },
  { title: 'Redis and the second one down', servers: ['redis', 'redis2'], names: ['hotStore'], shortMs: 4_000 },
  { title: 'Redis down, the second one there', servers: ['redis'], names: ['hotStore'], shortMs: 4_000 },
  { title: 'Kafka down', servers: ['kafka'], names: ['log'], shortMs: 7_000 },
  { title: 'Redis and MariaDB down', servers: ['redis', 'redis2', 'mariadb'], names: ['hotStore', 'recordStore'], shortMs: 4_000 },
  { title: 'the job down', servers: [], job: true, shortMs: 3_000 },
]

export type DisasterFigures = {
  calls: number
  answered: number
  /** By message. */
  errors: Record<string, number>
  /** Latencies of marks and lookups that began during the disaster. */
  p50Ms: number
  p99Ms: number
  /** Statements per second. Undefined if the database is the killed server. */
  queriesBefore: number
  queriesMeanwhile: number | undefined
  /** The most concurrent reads of the record store by the gateway, as sampled. */
  readsAtOnce: number
  /** Answers after the first one that named the stores. */
  named: { of: number; all: number }
  /** Counts in lookups during the disaster: requested, and null. */
  counts: { asked: number; missing: number }
  /** Counts that the gateway read from the record store during the disaster. */
  countsFromRecords: number
  /** Reads of the record store that the gateway's limit refused during the disaster. */
  readsRefused: number
  registrationsRefused: number
  convergedMs: number
  wrong: string[]
  verification: MarkVerification
}

/** The default number of connections from the gateway to the database. */
export const READS_AT_ONCE_MAX = 8

const BUSINESSES = [{ number: 1, name: 'video', entity: 'Video', thumbup: { likesCap: 20 } }]
const SUBJECTS = 60
/** Few viewers, so that many have more likes than the hot store keeps. */
const VIEWERS = 60
const WRITERS = 4
const READERS = 6
const QUIET_MAX_MS = 120_000
/** A disaster lasts until this many answers have named the store that is down. On a slow machine this takes longer than its duration. */
const NAMED_MIN = 11
const NOTICED_MAX_MS = 60_000

export type Stage = { deployment: Deployment; database: Database; ledger: Ledger; remove(): Promise<void> }

export async function startStage(): Promise<Stage> {
  const deployment = await startDeployment({
    gateways: 1,
    jobs: 0,
    markJobs: 1,
    moreServers: ['redis2'],
    settings: ({ redis2 }) => ({
      thumbup: THUMBUP,
      businesses: BUSINESSES,
      stores: { regions: 24, redis: { second: { urls: [`redis://127.0.0.1:${redis2.port}`] } } },
    }),
  })
  const { url } = deployment.config.stores.mysql as { url: string }
  const database = openDatabase(systemClock, { url, connectionsMax: 1 })
  return {
    deployment,
    database,
    ledger: makeLedger(),
    async remove() {
      await database.close()
      await deployment.remove()
    },
  }
}

export async function runDisaster(
  { deployment, database, ledger }: Stage,
  disaster: Disaster,
  { seed, beforeMs, downMs }: { seed: number; beforeMs: number; downMs: number },
  progress: (text: string) => void,
): Promise<DisasterFigures> {
  const { gateways, markJobs, servers } = deployment
  const tally = makeTally(() => new Set(disaster.servers.slice(0, 1)))
  const made: Call[] = []
  const wrong: string[] = []
  let registrationsRefused = 0
  const load = {
    viewers: VIEWERS,
    subjects: SUBJECTS,
    onCall(call: Call) {
      const isRefused = call.operation === REGISTER && call.end.kind === 'error' && call.end.code === 'RECORD_STORE_UNAVAILABLE'
      if (isRefused && disaster.servers.includes('mariadb')) {
        registrationsRefused++
        return
      }
      tally.add(call)
      made.push(call)
    },
    onWrong: (sentence: string) => wrong.push(sentence),
  }
  const writers = startMarkWriters(gateways, ledger, { ...load, seed, lanes: WRITERS, pauseMaxMs: 30 })
  const readers = startMarkWriters(gateways, ledger, { ...load, seed: seed + 1, lanes: READERS, pauseMaxMs: 5, readsOnly: true })
  try {
    const queriesBefore = await queriesPerSecond(database, () => sleep(beforeMs))
    progress(`${disaster.title}: killed`)
    const killedAt = performance.now()
    const before = await figuresOf(gateways[0] as Role)
    await Promise.all([
      ...disaster.servers.map((name) => servers[name].kill()),
      ...(disaster.job === true ? markJobs.map((job) => job.kill()) : []),
    ])
    const names = disaster.names ?? []
    const noticed = () => names.length === 0 || namedOf(since(made, killedAt), names).of >= NAMED_MIN
    let readsAtOnce = 0
    const last = async () => {
      for (let passed = 0; passed < downMs || !noticed(); passed = performance.now() - killedAt) {
        if (passed > NOTICED_MAX_MS) return
        readsAtOnce = Math.max(readsAtOnce, (await figuresOf(gateways[0] as Role)).underWay)
        await sleep(100)
      }
    }
    const queriesMeanwhile = disaster.servers.includes('mariadb')
      ? await last().then(() => undefined)
      : await queriesPerSecond(database, last)
    const after = await figuresOf(gateways[0] as Role)
    const upAt = performance.now()
    await Promise.all(disaster.servers.map((name) => servers[name].start()))
    await Promise.all(disaster.job === true ? markJobs.map((job) => job.start()) : [])
    progress(`${disaster.title}: back; ${tally.calls()} calls, ${tally.errorCount()} errors`)
    await sleep(1_000)
    await Promise.all([writers.stop(), readers.stop()])
    const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
    const during = since(made, killedAt).filter(({ begun }) => begun < upAt)
    const stores = await deployment.openStores()
    try {
      const kafka = deployment.config.stores.kafka as { brokers: string[]; topicPrefix: string }
      const verification = await verifyMarks(gateways, stores, ledger, kafka)
      const [p50Ms, p99Ms] = [quantile(during, 0.5), quantile(during, 0.99)]
      return {
        calls: tally.calls(),
        answered: tally.answered(),
        errors: tally.errors(),
        p50Ms,
        p99Ms,
        queriesBefore,
        queriesMeanwhile,
        readsAtOnce,
        named: namedOf(during, names),
        counts: countsOf(during),
        countsFromRecords: after.counts - before.counts,
        readsRefused: after.refused - before.refused,
        registrationsRefused,
        convergedMs,
        wrong,
        verification,
      }
    } finally {
      await stores.close()
    }
  } finally {
    for (const name of disaster.servers) if (!servers[name].isRunning()) await servers[name].start()
    for (const job of markJobs) if (!job.isRunning()) await job.start()
    await Promise.all([writers.stop(), readers.stop()])
  }
}

function since(calls: readonly Call[], begin: number): Call[] {
  return calls.filter(({ begun }) => begun >= begin)
}

/** One readable line. */
export function describeDisaster({ title }: Disaster, figures: DisasterFigures): string {
  const { calls, answered, errors, p50Ms, p99Ms, queriesBefore, queriesMeanwhile, counts, convergedMs, named } = figures
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0)
  const queries =
    queriesMeanwhile === undefined ? '' : `, database ${queriesBefore.toFixed(0)} → ${queriesMeanwhile.toFixed(0)} statements/s`
  return (
    `${title}: ${calls} calls, ${answered} answered, ${failed} errors, p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms meanwhile${queries}, ` +
    `${named.of} of ${named.all} answers say what they lack, ${counts.missing} of ${counts.asked} counts null, ` +
    `${figures.countsFromRecords} counts read from the record store, ${figures.readsRefused} of its reads refused, at most ${figures.readsAtOnce} at once, all in place ${(convergedMs / 1_000).toFixed(1)} s after quiet`
  )
}

function quantile(calls: readonly Call[], at: number): number {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0
}

/** The number of answers that name a store, since the first one that did. */
function namedOf(calls: readonly Call[], names: readonly string[]): { of: number; all: number } {
  const answers = calls.flatMap(({ end }) => (end.kind === 'answered' ? [end] : []))
  const isNamed = ({ degraded }: { degraded: ReadonlySet<string> }) => names.some((name) => degraded.has(name))
  const first = answers.findIndex(isNamed)
  const since = first < 0 ? [] : answers.slice(first)
  return { of: since.filter(isNamed).length, all: since.length }
}

function countsOf(calls: readonly Call[]): { asked: number; missing: number } {
  const lookups = calls.flatMap(({ operation, end }) =>
    operation === 'lookup' && end.kind === 'answered' ? (end.data as { subjects: { likeCount: number | null }[] }).subjects : [],
  )
  return { asked: lookups.length, missing: lookups.filter(({ likeCount }) => likeCount === null).length }
}

async function figuresOf(gateway: Role): Promise<{ counts: number; refused: number; underWay: number }> {
  const metrics = await metricsOf(gateway)
  return {
    counts: metrics?.get('tidemark_count_lookups_records_total') ?? Number.NaN,
    refused: metrics?.get('tidemark_marks_record_reads_refused_total') ?? Number.NaN,
    underWay: metrics?.get('tidemark_marks_record_reads_under_way') ?? Number.NaN,
  }
}

/** Statements per second that clients sent to the database during the disaster. */
async function queriesPerSecond(database: Database, work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  const before = await questions(database)
  await work()
  return ((await questions(database)) - before) / ((performance.now() - begun) / 1_000)
}

async function questions(database: Database): Promise<number> {
  return Number((await database.send("SHOW GLOBAL STATUS LIKE 'Questions'")).rows[0]?.[1])
}
