/** Marks and cached counts on a Cluster that lost a master: errors name the affected viewers, and all others are served. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PartOutage, apartIfPartIsOut } from '../../../../../core/outage/part-outage.ts'
import { regionOf } from '../../../../../core/regions.ts'
import type { CountCache } from '../../../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisCountCache } from '../../../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { CAP, fill, markOf } from '../../../../contracts/thumbup/marks.ts'
import { freshViewerIn, keyOf, later } from '../../../../contracts/reports.ts'
import { mastersOf, replicaOf, serves, type Member } from '../../../../../harness/deployment/cluster-operator.ts'
import { redisIsHere, startCluster } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const regions = 12
const tags = regionTags(regions)

describe.skipIf(!(await redisIsHere()))('marks on a Cluster that lost a master', () => {
  let servers: TestServers
  let nodes: Redis[] = []
  let marks: MarkStore
  let counts: CountCache
  beforeAll(async () => {
    servers = await startCluster(['cluster-require-full-coverage no'])
    nodes = servers.ports.map((port) => new Redis(port, '127.0.0.1'))
    for (const node of nodes) node.on('error', () => undefined)
    marks = openRedisMarkStore({ urls: servers.urls, regions, retryMaxMs: 500 })
    counts = openRedisCountCache({ urls: servers.urls, regions, retryMaxMs: 500 })
    await marks.check()
    await counts.check()
  })
  afterAll(async () => {
    for (const node of nodes) node.disconnect()
    await marks.close()
    await counts.close()
    await servers.stop()
  })

  it('viewers and subjects of other masters are served, and those of the lost master are named', async () => {
    const lost = (await mastersOf(nodes))[2] as Member
    const held = await Promise.all(tags.map((tag) => serves(lost, tag)))
    const isOut = (name: string): boolean => held[regionOf(name, regions)] === true
    const viewers = tags.map((_, region) => freshViewerIn(region, regions))
    const subjects = Array.from({ length: 60 }, (_, index) => ({ business: 1, oid: String(index) }))
    for (const viewer of viewers) await fill(marks, viewer)
    await counts.putCounts(subjects.map((subject) => ({ ...subject, counts: { likes: 1, dislikes: 0, version: 1 } })))
    // A new Cluster needs a moment to report its replicas.
    const replica = await vi.waitUntil(() => replicaOf(nodes, lost.id).catch(() => undefined), { timeout: 60_000 })
    await servers.kill(replica.options.port as number)
    await servers.kill(lost.port)

    const now = later()
    const put = (some: readonly { viewer: string }[]) =>
      marks.putMarks(
        some.map(({ viewer }) => markOf(viewer, '1', 'LIKE', now)),
        { now, cap: CAP },
      )
    const failure = await put(viewers.map((viewer) => ({ viewer }))).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(PartOutage)
    const outage = failure as PartOutage
    expect(viewers.map((viewer) => outage.concerns(viewer))).toEqual(viewers.map(isOut))
    expect(viewers.filter(isOut).length).toBeGreaterThan(2)
    expect(viewers.map((viewer) => marks.partOf?.(viewer))).toEqual(viewers.map((_, region) => region))

    const served = viewers.filter((viewer) => !isOut(viewer)).map((viewer) => keyOf(viewer, '1'))
    expect((await marks.getMarkMany(served)).map(({ mark }) => mark)).toEqual(served.map(() => 'LIKE'))
    const unread = await marks.getMarkMany(viewers.map((viewer) => keyOf(viewer, '1'))).catch((error: unknown) => error)
    expect(viewers.map((viewer) => (unread as PartOutage).concerns(viewer))).toEqual(viewers.map(isOut))

    // The name of a subject determines its place in the cache.
    const named = subjects.map((subject) => ({ viewer: `${subject.business}:${subject.oid}`, subject }))
    const read = (some: readonly { subject: (typeof subjects)[number] }[]) => counts.getCountsMany(some.map(({ subject }) => subject))
    const apart = await apartIfPartIsOut(named, async (some): Promise<unknown[]> =>
      some.every(({ viewer }) => isOut(viewer)) ? some.map(() => 'out') : read(some),
    )
    expect(apart).toEqual(named.map(({ viewer }) => (isOut(viewer) ? 'out' : { likes: 1, dislikes: 0, version: 1 })))
    await servers.start()
  })
})
