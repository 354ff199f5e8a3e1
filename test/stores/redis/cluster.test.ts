/** A Cluster of three masters with a replica each, while slots move and masters change under load. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressChange } from '../../../core/domain.ts'
import type { HotStore } from '../../../stores/hot-store.ts'
import { openRedisHotStore } from '../../../stores/redis/hot-store.ts'
import { regionTags, slotOf } from '../../../stores/redis/region-tags.ts'
import { freshViewerIn, later, report, until, write } from '../../contracts/reports.ts'
import { expectNothingLost, startLoad } from './load.ts'
import { redisIsHere, startCluster } from './servers.ts'
import type { TestServers } from './servers.ts'

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

  it('a slot that moves under load loses nothing, and calls are only slow', async () => {
    const load = startLoad(store, 'moving')
    await sleep(300)
    const changes: ProgressChange[] = []
    const viewer = freshViewerIn(0, regions)
    const stop = await store.followProgress(viewer, (change) => changes.push(change))
    const slot = slotOf(regionTags(regions)[0] as string)
    for (let move = 0; move < 3; move++) {
      await moveSlot(nodes, slot)
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

  it('a master that is killed under load is replaced, and calls go on within their time', async () => {
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

type Member = { id: string; port: number; node: Redis; firstSlot: number; masterId: string }

/** Every living node as one of them sees it. */
async function membersOf(nodes: readonly Redis[]): Promise<Member[]> {
  const witness = nodes.find((node) => node.status === 'ready')
  const text = String(await witness?.call('CLUSTER', 'NODES'))
  return text
    .trim()
    .split('\n')
    .filter((line) => !line.includes('fail'))
    .map((line) => {
      const [id = '', address = '', , masterId = '', , , , ...slots] = line.split(' ')
      const port = Number(/:(\d+)@/.exec(address)?.[1])
      const node = nodes.find((candidate) => candidate.options.port === port) as Redis
      return { id, port, node, masterId, firstSlot: Number.parseInt(slots[1] ?? '') }
    })
}

/** By the slots they hold. A vote for a shard bars another for the same shard for a while: so each test breaks another. */
async function mastersOf(nodes: readonly Redis[]): Promise<Member[]> {
  const masters = (await membersOf(nodes)).filter((member) => member.masterId === '-' && !Number.isNaN(member.firstSlot))
  return masters.sort((a, b) => a.firstSlot - b.firstSlot)
}

/** A replica that is still copying cannot take over. */
async function haveReplicas(nodes: readonly Redis[]): Promise<boolean> {
  const masters = await mastersOf(nodes)
  const infos = await Promise.all(masters.map(({ node }) => node.info('replication')))
  return infos.length === 3 && infos.every((info) => info.includes('state=online'))
}

async function replicaOf(nodes: readonly Redis[], masterId: string): Promise<Redis> {
  const replica = (await membersOf(nodes)).find((member) => member.masterId === masterId)
  if (replica === undefined) throw new Error(`master ${masterId} has no replica`)
  return replica.node
}

/** As redis-cli does it: both sides are told, the keys go over in parts, then everybody is told. */
async function moveSlot(nodes: readonly Redis[], slot: number): Promise<void> {
  const masters = await mastersOf(nodes)
  const owner = await findOwner(masters, slot)
  const target = masters[(masters.indexOf(owner) + 1) % masters.length] as Member
  await target.node.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', owner.id)
  await owner.node.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
  for (;;) {
    const keys = (await owner.node.callBuffer('CLUSTER', ['GETKEYSINSLOT', slot, 3])) as Buffer[]
    if (keys.length === 0) break
    await owner.node.call('MIGRATE', ['127.0.0.1', target.port, '', 0, 5_000, 'KEYS', ...keys])
    await sleep(20)
  }
  for (const member of [target, owner, ...masters]) await member.node.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
}

async function findOwner(masters: readonly Member[], slot: number): Promise<Member> {
  const tag = regionTags(regions).find((tag) => slotOf(tag) === slot)
  for (const master of masters) {
    if (
      await master.node.zcard(`tm{${tag}}d`).then(
        () => true,
        () => false,
      )
    )
      return master
  }
  throw new Error(`no master serves slot ${slot}`)
}
