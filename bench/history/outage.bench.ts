/**
 * How do clients notice a store outage? Each of the three stores is killed for 60 s (2.5 to 6 s with --quick) under load. Every call must
 * be answered without error, and a degraded answer must name the store in `extensions.degraded`. Afterwards every acknowledged write must
 * be stored.
 *
 *     npm run bench -- outage [--quick] [--json]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { openDatabase, type Database } from '../../stores/mysql/database.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import type { OwnServerName } from '../../harness/deployment/own-servers.ts'
import type { Call } from '../../harness/chaos/calls.ts'
import { makeLedger, type Ledger } from '../../harness/chaos/history/ledger.ts'
import { makeTally } from '../../harness/chaos/history/tally.ts'
import { verify } from '../../harness/chaos/history/verify.ts'
import { startWriters } from '../../harness/chaos/history/writers.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const HISTORY = { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500, timelineCap: 40 }
/** More entries than a hot timeline holds, so that pages need the record store. */
const SUBJECTS = 60
const VIEWERS = 60
const LANES = 6
const PAUSE_MAX_MS = 30
const QUIET_MAX_MS = 180_000

type Outage = {
  server: OwnServerName
  /** The name in `extensions.degraded`. */
  store: string
  title: string
  /** With --quick. A log outage is noticed after a flush has retried for five seconds. */
  quickMs: number
  /** True if the answer of this call must name the store. */
  concerns(call: Call, ledger: Ledger): boolean
}

const WRITES = new Set(['report', 'batch', 'delete'])

const OUTAGES: readonly Outage[] = [
  { server: 'redis', store: 'hotStore', title: 'Redis', quickMs: 2_500, concerns: () => true },
  { server: 'kafka', store: 'log', title: 'Kafka', quickMs: 6_000, concerns: ({ operation }) => WRITES.has(operation) },
  {
    server: 'mariadb',
    store: 'recordStore',
    title: 'MariaDB',
    quickMs: 2_500,
    concerns: ({ operation, viewer }, ledger) =>
      operation === 'page' && ledger.entriesOf(viewer).filter(({ acknowledged }) => acknowledged > 0).length > HISTORY.timelineCap,
  },
]

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting Redis, Kafka, MariaDB, a gateway and a job')
  const deployment = await startDeployment({ settings: { history: HISTORY, stores: { regions: 24 } } })
  const { url } = deployment.config.stores.mysql as { url: string }
  const database = openDatabase(systemClock, { url, connectionsMax: 1 })
  try {
    const ledger = makeLedger()
    const measures: Measure[] = []
    for (const outage of OUTAGES) measures.push(...(await runOutage(deployment, database, ledger, outage, quick, progress)))
    const stores = await deployment.openStores()
    try {
      const { rows, expectedRows } = await verify(deployment.gateways, stores.records, ledger)
      const deaths = deployment.roles.flatMap((role) => role.deaths())
      for (const death of deaths) progress(death)
      return [
        ...measures,
        { metric: 'rows of the record store : keys written', value: rows / expectedRows, unit: 'ratio', target: 1 },
        { metric: 'processes that ended by themselves', value: deaths.length, unit: '', target: 0, atMost: true },
      ]
    } finally {
      await stores.close()
    }
  } finally {
    await database.close()
    await deployment.remove()
  }
}

async function runOutage(
  deployment: Deployment,
  database: Database,
  ledger: Ledger,
  outage: Outage,
  quick: boolean,
  progress: (text: string) => void,
): Promise<Measure[]> {
  const { gateways, servers } = deployment
  const { title, store } = outage
  const server = servers[outage.server]
  const tally = makeTally(() => new Set([outage.server]))
  const wrong: string[] = []
  const concerned: { begun: number; isNamed: boolean }[] = []
  const writers = startWriters(gateways, ledger, {
    seed: 1 + OUTAGES.indexOf(outage),
    lanes: LANES,
    viewers: VIEWERS,
    subjects: SUBJECTS,
    pauseMaxMs: PAUSE_MAX_MS,
    onCall(call) {
      tally.add(call)
      if (call.end.kind === 'answered' && outage.concerns(call, ledger))
        concerned.push({ begun: call.begun, isNamed: call.end.degraded.has(store) })
    },
    onWrong: (sentence) => wrong.push(sentence),
  })
  try {
    const healthy = await whileCounting(database, outage, async () => sleep(quick ? 700 : 10_000))
    progress(`${title} is killed`)
    const killedAt = performance.now()
    await server.kill()
    const down = await whileCounting(database, outage, async () => sleep(quick ? outage.quickMs : 60_000))
    const upAt = performance.now()
    await server.start()
    const backAt = performance.now()
    progress(`${title} is back; ${tally.calls()} calls, ${tally.errorCount()} errors`)
    await sleep(quick ? 500 : 5_000)
    await writers.stop()
    await waitUntilConverged(deployment, QUIET_MAX_MS)
    const inPlaceMs = performance.now() - backAt
    const losses = await lossesOf(deployment, ledger)
    for (const sentence of [...losses, ...wrong].slice(0, 20)) progress(sentence)
    for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
    const during = concerned.filter(({ begun }) => begun >= killedAt && begun < upAt)
    const firstNamed = during.find(({ isNamed }) => isNamed)
    const since = during.filter(({ begun }) => firstNamed !== undefined && begun >= firstNamed.begun)
    return [
      { metric: `${title} down: calls`, value: tally.calls(), unit: '' },
      { metric: `${title} down: calls answered`, value: (100 * tally.answered()) / tally.calls(), unit: '%', target: 100 },
      { metric: `${title} down: errors`, value: tally.errorCount(), unit: '', target: 0, atMost: true },
      { metric: `${title} down: slowest answer`, value: tally.slowestMs(), unit: 'ms' },
      {
        metric: `${title} down: noticed after`,
        value: (firstNamed?.begun ?? Infinity) - killedAt,
        unit: 'ms',
        target: 10_000,
        atMost: true,
      },
      {
        metric: `${title} down: answers that name ${store} from then on`,
        value: (100 * since.filter(({ isNamed }) => isNamed).length) / since.length,
        unit: '%',
        target: 100,
      },
      ...(healthy === undefined ? [] : [{ metric: `${title} down: database queries before`, value: healthy, unit: '/s' }]),
      ...(down === undefined ? [] : [{ metric: `${title} down: database queries meanwhile`, value: down, unit: '/s' }]),
      { metric: `${title} down: lost, stale or torn`, value: losses.length, unit: '', target: 0, atMost: true },
      { metric: `${title} down: wrong answers`, value: wrong.length, unit: '', target: 0, atMost: true },
      { metric: `${title} back until all is in place, load included`, value: inPlaceMs, unit: 'ms' },
    ]
  } finally {
    if (!server.isRunning()) await server.start()
    await writers.stop()
  }
}

async function lossesOf({ gateways, openStores }: Deployment, ledger: Ledger): Promise<readonly string[]> {
  const stores = await openStores()
  try {
    return (await verify(gateways, stores.records, ledger)).losses
  } finally {
    await stores.close()
  }
}

/** Statements per second that clients sent to the database meanwhile. Undefined if the database is down. */
async function whileCounting(database: Database, { server }: Outage, work: () => Promise<unknown>): Promise<number | undefined> {
  if (server === 'mariadb') {
    await work()
    return undefined
  }
  const begun = performance.now()
  const before = await questions(database)
  await work()
  return ((await questions(database)) - before) / ((performance.now() - begun) / 1_000)
}

async function questions(database: Database): Promise<number> {
  return Number((await database.send("SHOW GLOBAL STATUS LIKE 'Questions'")).rows[0]?.[1])
}
