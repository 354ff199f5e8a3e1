/** The seen store on a Cluster that lost a master: errors name the affected viewers, and all others are served. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PartOutage } from '../../../../../core/outage/part-outage.ts'
import { regionOf } from '../../../../../core/regions.ts'
import { regionOfShard, shardOf } from '../../../../../subgraphs/feed-existence/model/time-ring.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { openRedisSeenStore } from '../../../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import type { SeenStore } from '../../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { freshViewerIn } from '../../../../contracts/reports.ts'
import { AT, CAPS, play, stage } from '../../../../contracts/feed-existence/seen.ts'
import { mastersOf, replicaOf, serves, type Member } from '../../../../../harness/deployment/cluster-operator.ts'
import { redisIsHere, startCluster } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const regions = 12
const shape = { slots: 6, shards: 36 }
const tags = regionTags(regions)

describe.skipIf(!(await redisIsHere()))('the seen store on a Cluster that lost a master', () => {
  let servers: TestServers
  let nodes: Redis[] = []
  let store: SeenStore
  beforeAll(async () => {
    servers = await startCluster(['cluster-require-full-coverage no'])
    nodes = servers.ports.map((port) => new Redis(port, '127.0.0.1'))
    for (const node of nodes) node.on('error', () => undefined)
    store = openRedisSeenStore({ urls: servers.urls, regions, ...shape, retryMaxMs: 500 })
    await store.check()
    await store.getRingLayouts()
  })
  afterAll(async () => {
    for (const node of nodes) node.disconnect()
    await store.close()
    await servers.stop()
  })

  it('viewers and shards of other masters are served, and those of the lost master are named', async () => {
    const lost = (await mastersOf(nodes))[2] as Member
    const held = await Promise.all(tags.map((tag) => serves(lost, tag)))
    const isOut = (viewer: string): boolean => held[regionOf(viewer, regions)] === true
    const viewers = tags.map((_, region) => freshViewerIn(region, regions))
    const plays = viewers.map((viewer) => play(viewer, '7'))
    await stage(store, 3, ...plays)
    // A new Cluster needs a moment to report its replicas.
    const replica = await vi.waitUntil(() => replicaOf(nodes, lost.id).catch(() => undefined), { timeout: 60_000 })
    await servers.kill(replica.options.port as number)
    await servers.kill(lost.port)

    const named = (error: unknown): boolean[] => {
      expect(error).toBeInstanceOf(PartOutage)
      return viewers.map((viewer) => (error as PartOutage).concerns(viewer))
    }
    const failureOf = (call: Promise<unknown>) => call.catch((error: unknown) => error)
    const outs = viewers.map(isOut)
    expect([outs.filter(Boolean).length > 2, outs.filter((out) => !out).length > 2]).toEqual([true, true])
    expect(viewers.map((viewer) => store.partOf?.(viewer))).toEqual(viewers.map((_, region) => region))
    expect(named(await failureOf(stage(store, 3, ...viewers.map((viewer) => play(viewer, '8')))))).toEqual(outs)
    expect(named(await failureOf(store.getSeenMany(viewers.map((viewer) => ({ viewer, business: 1 })))))).toEqual(outs)
    expect(named(await failureOf(store.readStaged(3, viewers)))).toEqual(outs)

    const served = viewers.filter((viewer) => !isOut(viewer))
    const seen = await store.getSeenMany(served.map((viewer) => ({ viewer, business: 1 })))
    expect(seen.map(({ staged }) => staged.map(({ oid }) => oid).sort())).toEqual(served.map(() => ['7', '8']))
    for (const viewer of viewers) {
      const shard = shardOf(viewer, regions, shape.shards)
      const listed = await failureOf(store.listRing(3, shard, 10))
      if (isOut(viewer)) expect(named(listed)[regionOfShard(shard, regions)]).toBe(true)
      else expect(listed).toEqual([viewer])
      const issued = await failureOf(store.putIssued(viewer, 1, ['1'], { ...CAPS, now: AT }))
      expect(issued instanceof PartOutage).toBe(isOut(viewer))
    }
    const all = viewers.map((viewer) => ({ viewer, plays: [{ business: 1, oid: '7', playedAt: AT }] }))
    expect(named(await failureOf(store.removeStaged(3, all)))).toEqual(outs)
    expect((await store.readStaged(3, served)).map((staged) => staged.map(({ oid }) => oid))).toEqual(served.map(() => ['8']))
    await expect(store.check()).rejects.toBeInstanceOf(PartOutage)
    await servers.start()
  })
})
