/**
 * Do problems of one tenant's stores affect another tenant? Two businesses are under the same load: "video" on the common stores, and
 * "article" with its own Redis and MariaDB. "comic" has a quota and shares the stores of "video". There are three disturbances, each
 * between two healthy periods: the database of "article" stops, it freezes (it answers no call), and "comic" is flooded beyond its quota.
 * The calls of "video" must be answered as fast as before, and those of "article" without error.
 *
 *     npm run bench -- tenants [--quick] [--json]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { reconcileWhole } from '../../subgraphs/thumbup/persist/whole-reconciliation.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import type { Role } from '../../harness/deployment/role.ts'
import { call, type Call } from '../../harness/chaos/calls.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { quantileOf } from '../support/quantile.ts'

const TENANT = { number: 2, name: 'article', entity: 'Article' }
const THUMBUP = { flushAgeMaxMs: 200, windowMs: 500, sweepAfterMs: 2_000, sweepEveryMs: 500, publishEveryMs: 500 }
/** Calls per second to each of the two, independent of the duration of answers. */
const RATE = 40
const VIEWERS = 200
const SUBJECTS = 500
const IDS = 20
const FRESH = 3
const QUOTA = 50
const SETTLE_MS = 1_500
const QUIET_MAX_MS = 120_000

const LOOK_UP =
  'query ($business: String!, $ids: [ID!]!) { subjects(business: $business, ids: $ids) { viewerMark likeCount dislikeCount } }'
const MARK =
  'mutation ($business: String!, $id: ID!, $mark: Mark!) { setMark(input: { business: $business, id: $id, mark: $mark }) { outcome subject { likeCount } } }'
const FLOOD = 'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome userErrors { code } } } }'

type Disturbance = { title: string; begin(): Promise<void> | void; end(): Promise<void> | void }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting two Redis, two MariaDB, Kafka, a gateway and a job')
  const deployment = await startDeployment({
    jobs: 0,
    markJobs: 1,
    moreServers: ['redis2', 'mariadb2'],
    settings: ({ redis2, mariadb2 }) => ({
      thumbup: THUMBUP,
      businesses: [
        { number: 1, name: 'video', entity: 'Video' },
        {
          ...TENANT,
          thumbup: {
            stores: {
              redis: { urls: [`redis://127.0.0.1:${redis2.port}`] },
              mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${mariadb2.port}/tidemark` },
            },
          },
        },
        { number: 3, name: 'comic', entity: 'Comic', thumbup: { marksPerSecondMax: QUOTA } },
      ],
      stores: { regions: 24 },
    }),
  })
  try {
    return await disturb(deployment, quick, progress)
  } finally {
    deployment.servers.mariadb2.thaw()
    await deployment.remove()
  }
}

async function disturb(deployment: Deployment, quick: boolean, progress: (text: string) => void): Promise<Measure[]> {
  const { servers, gateways } = deployment
  const gateway = gateways[0] as Role
  const flood = makeFlood(gateway)
  const disturbances: Disturbance[] = [
    { title: "article's database stopped", begin: () => servers.mariadb2.kill(), end: () => servers.mariadb2.start() },
    { title: "article's database frozen", begin: servers.mariadb2.freeze, end: servers.mariadb2.thaw },
    { title: 'comic over its quota', begin: flood.begin, end: flood.end },
  ]
  const [rounds, phaseMs] = quick ? [1, 2_500] : [5, 10_000]
  const measures: Measure[] = []
  await load(gateway, 3_000)
  for (const { title, begin, end } of disturbances) {
    // Every disturbed period lies between two healthy ones, so a change in the machine's load affects both.
    const healthy = (await load(gateway, phaseMs)).video
    const others: Call[] = []
    const own: Call[] = []
    for (let round = 0; round < rounds; round++) {
      await begin()
      await sleep(SETTLE_MS)
      const during = await load(gateway, phaseMs)
      others.push(...during.video)
      own.push(...during.article)
      await end()
      await sleep(SETTLE_MS)
      const after = (await load(gateway, phaseMs)).video
      healthy.push(...after)
      const [disturbed, again] = [during.video, after].map((calls) => quantile(calls, 0.99).toFixed(1))
      progress(`${title}, round ${round + 1}: p99 of video ${disturbed} ms, healthy again ${again} ms`)
    }
    const healthyP99 = quantile(healthy, 0.99)
    measures.push(
      { metric: `${title}: p50 of video when healthy`, value: quantile(healthy, 0.5), unit: 'ms' },
      { metric: `${title}: p50 of video meanwhile`, value: quantile(others, 0.5), unit: 'ms' },
      { metric: `${title}: p99 of video when healthy`, value: healthyP99, unit: 'ms' },
      {
        metric: `${title}: p99 of video meanwhile : healthy`,
        value: quantile(others, 0.99) / healthyP99,
        unit: 'ratio',
        ...(quick ? {} : { target: 1.2, atMost: true }),
      },
      { metric: `${title}: errors of video`, value: errorsOf(others), unit: '', target: 0, atMost: true },
      { metric: `${title}: answers of video that lack something`, value: degradedOf(others), unit: '', target: 0, atMost: true },
      { metric: `${title}: calls of article`, value: own.length, unit: '' },
      { metric: `${title}: errors of article`, value: errorsOf(own), unit: '', target: 0, atMost: true },
      { metric: `${title}: answers of article that say what they lack`, value: degradedOf(own), unit: '' },
      { metric: `${title}: p99 of article meanwhile`, value: quantile(own, 0.99), unit: 'ms' },
    )
  }
  measures.push(
    { metric: 'marks of comic refused with QUOTA_EXCEEDED', value: flood.refused(), unit: '', target: 1 },
    {
      metric: 'marks of comic taken, per second of the flood',
      value: flood.takenPerSecond(),
      unit: '/s',
      target: QUOTA * 1.5,
      atMost: true,
    },
  )
  const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
  const stores = await deployment.openStores()
  try {
    let drift = 0
    for (const [number, { records }] of [[1, stores.marks] as const, ...stores.tenants])
      for await (const page of reconcileWhole(records, number)) drift += page.drift.length + page.ownerDrift.length
    return [
      ...measures,
      { metric: 'drift of both afterwards', value: drift, unit: '', target: 0, atMost: true },
      { metric: 'quiet until everything is in place', value: convergedMs, unit: 'ms' },
    ]
  } finally {
    await stores.close()
  }
}

/** Calls to both at a fixed rate, four lookups for each mark. */
async function load(gateway: Role, forMs: number): Promise<{ video: Call[]; article: Call[] }> {
  const made = { video: [] as Call[], article: [] as Call[] }
  const underWay: Promise<void>[] = []
  const begun = performance.now()
  for (let count = 0; ; count++) {
    const waitMs = begun + (count * 1_000) / RATE - performance.now()
    if (performance.now() - begun > forMs) break
    if (waitMs > 0) await sleep(waitMs)
    for (const business of ['video', 'article'] as const)
      underWay.push(one(gateway, business, count).then((each) => void made[business].push(each)))
  }
  await Promise.all(underWay)
  return made
}

let asked = 0

function one(gateway: Role, business: string, count: number): Promise<Call> {
  const viewer = String(1 + ((count * 7) % VIEWERS))
  const id = (offset: number) => String(1 + ((count * 31 + offset) % SUBJECTS))
  if (count % 5 === 0) {
    const mark = (['LIKE', 'DISLIKE', 'NONE'] as const)[count % 3]
    return call(gateway, 'mark', viewer, MARK, { business, id: id(0), mark })
  }
  // The last ones were never requested, so no cache has their counts.
  const ids = Array.from({ length: IDS }, (_, offset) => (offset < IDS - FRESH ? id(offset) : `new-${asked++}`))
  return call(gateway, 'lookup', viewer, LOOK_UP, { business, ids })
}

/** Sends ten times the quota, in batches. */
function makeFlood(gateway: Role) {
  let ended: Promise<void> | undefined
  let running = false
  let [refused, taken, ms] = [0, 0, 0]

  async function run(): Promise<void> {
    const begun = performance.now()
    for (let count = 0; running; count++) {
      const marks = Array.from({ length: QUOTA }, (_, at) => ({
        business: 'comic',
        id: String(at),
        mark: count % 2 === 0 ? 'LIKE' : 'NONE',
      }))
      type Batch = { setMarkBatch: { results: { outcome: string; userErrors: { code: string }[] }[] } }
      const { end } = await call<Batch>(gateway, 'flood', 'flooder', FLOOD, { marks })
      if (end.kind === 'answered') {
        for (const { outcome, userErrors } of end.data.setMarkBatch.results) {
          if (userErrors[0]?.code === 'QUOTA_EXCEEDED') refused++
          else if (outcome !== 'REJECTED') taken++
        }
      }
      await sleep(100)
    }
    ms += performance.now() - begun
  }

  return {
    begin() {
      running = true
      ended = run()
    },
    async end() {
      running = false
      await ended
    },
    refused: () => refused,
    takenPerSecond: () => (ms === 0 ? 0 : taken / (ms / 1_000)),
  }
}

function errorsOf(calls: readonly Call[]): number {
  return calls.filter(({ end }) => end.kind !== 'answered' || JSON.stringify(end.data).includes('"REJECTED"')).length
}

function degradedOf(calls: readonly Call[]): number {
  return calls.filter(({ end }) => end.kind === 'answered' && end.degraded.size > 0).length
}

function quantile(calls: readonly Call[], at: number): number {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b)
  return quantileOf(sorted, at)
}
