/** Operations on a Redis Cluster of three masters: reading roles, moving slots, failing over. */
import type { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { slotOf } from '../../stores/redis/region-tags.ts'

export type Member = { id: string; port: number; node: Redis; firstSlot: number; masterId: string }

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

/**
 * The masters in the order of their slots. A vote for a shard prevents another one for the same shard for a while, so each test breaks a
 * different shard.
 */
export async function mastersOf(nodes: readonly Redis[]): Promise<Member[]> {
  const masters = (await membersOf(nodes)).filter((member) => member.masterId === '-' && !Number.isNaN(member.firstSlot))
  return masters.sort((a, b) => a.firstSlot - b.firstSlot)
}

/** A replica that is still copying cannot take over. */
export async function haveReplicas(nodes: readonly Redis[]): Promise<boolean> {
  const masters = await mastersOf(nodes)
  const infos = await Promise.all(masters.map(({ node }) => node.info('replication')))
  // The masters know it before the gossip arrives.
  const known = new Set((await membersOf(nodes)).map(({ masterId }) => masterId))
  return infos.length === 3 && infos.every((info) => info.includes('state=online')) && masters.every(({ id }) => known.has(id))
}

export async function replicaOf(nodes: readonly Redis[], masterId: string): Promise<Redis> {
  const replica = (await membersOf(nodes)).find((member) => member.masterId === masterId)
  if (replica === undefined) throw new Error(`master ${masterId} has no replica`)
  return replica.node
}

/**
 * Moves the slot of a hash tag to the next master, as redis-cli does: both sides are notified, the keys move in parts, then all nodes are
 * notified.
 */
export async function moveSlot(nodes: readonly Redis[], tag: string): Promise<void> {
  const move = await beginMove(nodes, tag)
  while ((await move.some(3)) > 0) await sleep(20)
  await move.finish()
}

/** The slot is migrating until `finish`. `some` moves at most the given number of keys and returns the number moved. */
export async function beginMove(
  nodes: readonly Redis[],
  tag: string,
): Promise<{ some(count: number): Promise<number>; finish(): Promise<void> }> {
  const slot = slotOf(tag)
  const masters = await mastersOf(nodes)
  const owner = await ownerOf(masters, tag)
  const target = masters[(masters.indexOf(owner) + 1) % masters.length] as Member
  await target.node.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', owner.id)
  await owner.node.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
  async function some(count: number): Promise<number> {
    const keys = (await owner.node.callBuffer('CLUSTER', ['GETKEYSINSLOT', slot, count])) as Buffer[]
    if (keys.length > 0) await owner.node.call('MIGRATE', ['127.0.0.1', target.port, '', 0, 5_000, 'KEYS', ...keys])
    return keys.length
  }
  return {
    some,
    async finish() {
      while ((await some(100)) > 0);
      for (const member of [target, owner, ...masters]) await member.node.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
    },
  }
}

async function ownerOf(masters: readonly Member[], tag: string): Promise<Member> {
  for (const master of masters) if (await serves(master, tag)) return master
  throw new Error(`no master serves the slot of {${tag}}`)
}

/** A node refuses a key of a slot that it does not serve. */
export function serves({ node }: Member, tag: string): Promise<boolean> {
  return node.exists(`any{${tag}}`).then(
    () => true,
    () => false,
  )
}
