/** A Cluster of three masters with a replica each, while slots move and masters change under load. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressChange } from '../../../core/domain.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { regionTags } from '../../../stores/redis/region-tags.ts'
import { haveReplicas, mastersOf, moveSlot, replicaOf, type Member } from '../../../harness/deployment/cluster-operator.ts'
import { freshViewerIn, later, report, write } from '../../contracts/reports.ts'
import { expectNothingLost, startLoad } from './load.ts'
import { redisIsHere, startCluster } from '../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'

const regions = 12
const timelineCap = 100

describe.skipIf(!(await redisIsHere()))('on a Redis Cluster', () => {
  let servers: TestServers
  let store: HotStore
  let nodes: Redis[] = []
  beforeAll(async () => {
    servers = await startCluster()
    nodes = servers.ports.map((port) => new Redis(port, '127.0.0.1'))
    for (const node of nodes) node.on('error', () => undefined)
    store = openRedisHotStore({ urls: servers.urls, regions, retryMaxMs: 20_000 })
    await store.check()
  })
  afterAll(async () => {
    await store.close()
    for (const node of nodes) node.disconnect()
    await servers.stop()
  })

  it('regions spread evenly over the masters', async () => {
    const masters = await mastersOf(nodes)
    const counts = await Promise.all(
      masters.map(async ({ node }) => {
        const held = await Promise.all(
          regionTags(regions).map((tag) =>
            node.zcard(`tm{${tag}}d`).then(
              () => 1,
              () => 0,
            ),
          ),
        )
        return held.filter((one) => one === 1).length
      }),
    )
    process.stdout.write(`${regions} regions on the masters of the cluster: ${counts.join(' ')}\n`)
    expect(counts).toEqual([4, 4, 4])
  })

  it('sends few topology requests for any number of unanswered calls', async () => {
    const waiting = openRedisHotStore({ urls: servers.urls, regions, retryMaxMs: 500, commandTimeoutMs: 50 })
    await waiting.check()
    const writeTo = async (index: number) => {
      const now = later()
      await waiting.putProgress([write(freshViewerIn(index % regions, regions), '1', report(now))], { now, timelineCap })
    }
    const masters = await mastersOf(nodes)
    await Promise.all(nodes.map((node) => node.config('RESETSTAT')))
    try {
      await Promise.all(masters.map(({ node }) => node.call('CLIENT', 'PAUSE', '5000', 'WRITE')))
      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => writeTo(index)))
      expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    } finally {
      await Promise.all(masters.map(({ node }) => node.call('CLIENT', 'UNPAUSE')))
      await waiting.close()
    }
    const figures = await Promise.all(nodes.map((node) => node.info('commandstats')))
    const asked = figures.map((text) => Number(/cmdstat_cluster\|slots:calls=(\d+)/.exec(text)?.[1] ?? 0))
    expect(asked.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(5)
  })

  it('a slot that moves under load loses nothing, and calls are only slow', async () => {
    const load = startLoad(store, 'moving')
    await sleep(300)
    const changes: ProgressChange[] = []
    const viewer = freshViewerIn(0, regions)
    const stop = await store.followProgress(viewer, (change) => changes.push(change))
    const [tag = ''] = regionTags(regions)
    for (let move = 0; move < 3; move++) {
      await moveSlot(nodes, tag)
      await sleep(200)
    }
    const result = await load.stop()
    process.stdout.write(
      `three slot migrations under load: ${load.acknowledgements()} calls, ${result.failures.length} failed, slowest ${Math.round(result.slowestMs)} ms\n`,
    )
    expect(result.failures).toEqual([])
    await expectNothingLost(store, regions, result)
    await until('followers hear of changes again', () => writesAreHeard(store, viewer, changes))
    stop()
  })

  it('a master that hands over to its replica under load loses nothing, and calls are only slow', async () => {
    const load = startLoad(store, 'handed')
    await sleep(300)
    const changes: ProgressChange[] = []
    const viewer = freshViewerIn(0, regions)
    const stop = await store.followProgress(viewer, (change) => changes.push(change))
    for (let turn = 0; turn < 2; turn++) {
      await until('every master has its replica', () => haveReplicas(nodes))
      const { id } = (await mastersOf(nodes))[turn] as Member
      const replica = await replicaOf(nodes, id)
      await replica.call('CLUSTER', 'FAILOVER')
      await until('the replica became the master', async () => (await replica.role())[0] === 'master')
      await sleep(500)
    }
    const result = await load.stop()
    process.stdout.write(
      `two failovers under load: ${load.acknowledgements()} calls, ${result.failures.length} failed, slowest ${Math.round(result.slowestMs)} ms\n`,
    )
    expect(result.failures).toEqual([])
    await expectNothingLost(store, regions, result)
    await until('followers hear of changes again', () => writesAreHeard(store, viewer, changes))
    stop()
  })

  it('a master that is killed under load is replaced, and calls continue within their time', async () => {
    await until('every master has its replica', () => haveReplicas(nodes))
    const load = startLoad(store, 'killed')
    await sleep(500)
    const { port } = (await mastersOf(nodes))[2] as Member
    await servers.kill(port)
    await until('a replica took over', async () => {
      const ports = (await mastersOf(nodes)).map((master) => master.port)
      return ports.length === 3 && !ports.includes(port)
    })
    await sleep(500)
    const before = load.acknowledgements()
    await until('writes are acknowledged again', () => load.acknowledgements() > before + 50)
    const result = await load.stop()
    process.stdout.write(
      `a killed master: ${load.acknowledgements()} calls, ${result.failures.length} failed, slowest ${Math.round(result.slowestMs)} ms\n`,
    )
    expect(result.failures).toEqual([])
    await servers.start()
  })
})

async function writesAreHeard(store: HotStore, viewer: string, changes: readonly ProgressChange[]): Promise<boolean> {
  const now = later()
  const heard = changes.length
  await store.putProgress([write(viewer, '1', report(now))], { now, timelineCap })
  await sleep(100)
  return changes.length > heard
}
