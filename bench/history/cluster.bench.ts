/**
 * Does a changing Redis Cluster lose writes or delay calls? Under load through a gateway and a job, slots move from master to master, and
 * masters hand over to their replicas. After the load ends, every acknowledged write is looked up through the API and in the record store.
 * Prints the number of regions on each master.
 *
 *     npm run bench -- cluster [--quick] [--json]
 *
 * A killed master may lose its last writes, because Redis replicates after it answers. test/stores/redis/cluster.long.test.ts kills one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { regionTags } from '../../stores/redis/region-tags.ts'
import { startCluster } from '../../harness/deployment/redis-servers.ts'
import { haveReplicas, mastersOf, moveSlot, replicaOf, serves, type Member } from '../../harness/deployment/cluster-operator.ts'
import { startDeployment, waitUntilConverged, type Deployment } from '../../harness/deployment/deployment.ts'
import { makeLedger } from '../../harness/chaos/history/ledger.ts'
import { makeTally } from '../../harness/chaos/history/tally.ts'
import { verify } from '../../harness/chaos/history/verify.ts'
import { startWriters } from '../../harness/chaos/history/writers.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const REGIONS = 100
const HISTORY = { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500, timelineCap: 40 }
const VIEWERS = 60
const SUBJECTS = 60
const MASTERS = 3
const QUIET_MAX_MS = 60_000
const HANDOVER_MAX_MS = 60_000

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  progress('starting a Redis Cluster, Kafka, MariaDB, a gateway and a job')
  const cluster = await startCluster(['appendfsync always'])
  const nodes = cluster.ports.map((port) => new Redis(port, '127.0.0.1'))
  for (const node of nodes) node.on('error', () => undefined)
  try {
    const deployment = await startDeployment({ cluster: cluster.urls, settings: { history: HISTORY, stores: { regions: REGIONS } } })
    try {
      return await rebuildUnderLoad(deployment, nodes, quick ? { moves: 3, handovers: 1 } : { moves: 30, handovers: 6 }, progress)
    } finally {
      await deployment.remove()
    }
  } finally {
    for (const node of nodes) node.disconnect()
    await cluster.stop()
  }
}

async function rebuildUnderLoad(
  deployment: Deployment,
  nodes: readonly Redis[],
  { moves, handovers }: { moves: number; handovers: number },
  progress: (text: string) => void,
): Promise<Measure[]> {
  const spread = await spreadOf(nodes)
  progress(`${REGIONS} regions on the masters: ${spread.join(' ')}`)
  const ledger = makeLedger()
  const tally = makeTally(() => new Set())
  const wrong: string[] = []
  const onWrong = (sentence: string) => void wrong.push(sentence)
  const writers = startWriters(deployment.gateways, ledger, {
    seed: 1,
    lanes: 6,
    viewers: VIEWERS,
    subjects: SUBJECTS,
    pauseMaxMs: 10,
    onCall: tally.add,
    onWrong,
  })
  try {
    await sleep(2_000)
    // Viewers are 1 to 60, so these regions get writes.
    const tags = regionTags(REGIONS)
    for (let move = 1; move <= moves; move++) await moveSlot(nodes, tags[move] as string)
    progress(`${moves} slots moved; ${tally.calls()} calls, ${tally.errorCount()} errors`)
    for (let turn = 0; turn < handovers; turn++) await handOver(nodes, turn % MASTERS)
    progress(`${handovers} masters handed over; ${tally.calls()} calls, ${tally.errorCount()} errors`)
    await sleep(1_000)
  } finally {
    await writers.stop()
  }
  const convergedMs = await waitUntilConverged(deployment, QUIET_MAX_MS)
  const stores = await deployment.openStores()
  const verification = await verify(deployment.gateways, stores.records, ledger)
  await stores.close()
  for (const sentence of [...verification.losses, ...wrong].slice(0, 20)) progress(sentence)
  for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
  return [
    {
      metric: 'regions, most on a master : fewest',
      value: Math.max(...spread) / Math.min(...spread),
      unit: 'ratio',
      target: 1.1,
      atMost: true,
    },
    { metric: 'slots moved', value: moves, unit: '' },
    { metric: 'masters handed over', value: handovers, unit: '' },
    { metric: 'reports acknowledged', value: ledger.acknowledgedCount(), unit: '' },
    { metric: 'calls', value: tally.calls(), unit: '' },
    { metric: 'slowest answer', value: tally.slowestMs(), unit: 'ms' },
    { metric: 'errors', value: tally.errorCount(), unit: '', target: 0, atMost: true },
    { metric: 'answers that had to do without Redis', value: tally.degraded('hotStore'), unit: '' },
    { metric: 'wrong answers', value: wrong.length, unit: '', target: 0, atMost: true },
    { metric: 'lost, stale or torn', value: verification.losses.length, unit: '', target: 0, atMost: true },
    { metric: 'rows of the record store : keys written', value: verification.rows / verification.expectedRows, unit: 'ratio', target: 1 },
    { metric: 'quiet until everything is in place', value: convergedMs, unit: 'ms' },
  ]
}

/** The number of regions of each master. */
async function spreadOf(nodes: readonly Redis[]): Promise<number[]> {
  const masters = await mastersOf(nodes)
  return Promise.all(
    masters.map(async (master) => (await Promise.all(regionTags(REGIONS).map((tag) => serves(master, tag)))).filter(Boolean).length),
  )
}

/** As an operator does before the removal of a node: the replica catches up and takes over. */
async function handOver(nodes: readonly Redis[], turn: number): Promise<void> {
  await until('every master has its replica', () => haveReplicas(nodes))
  const { id } = (await mastersOf(nodes))[turn] as Member
  const replica = await replicaOf(nodes, id)
  // Other masters vote only at intervals, and a handover without their votes ends after 5 s.
  await until('the replica is the master', async () => {
    if ((await replica.role())[0] === 'master') return true
    await replica.call('CLUSTER', 'FAILOVER')
    for (let looks = 0; looks < 60; looks++) {
      await sleep(100)
      if ((await replica.role())[0] === 'master') return true
    }
    return false
  })
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + HANDOVER_MAX_MS; !(await isSo()); await sleep(50)) {
    if (Date.now() > end) throw new Error(`${what}: not reached within ${HANDOVER_MAX_MS / 1_000} s`)
  }
}
