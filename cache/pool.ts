/**
 * A pool: nodes that share the keys by rendezvous hashing. A node that is down fails for its keys. They do not move to other nodes of the
 * pool, because the next tier has them, and because they would come back old when the node returns.
 */
import type { GuardedNode } from './guarded-node.ts'
import type { Held } from './node-client.ts'
import { makeRendezvous } from './rendezvous.ts'
import type { Stamped } from './tiered-cache.ts'

/** Undefined: a miss. Null: the node of the key failed. */
export type Answer = Held | undefined | null

export type Member = { node: GuardedNode; weight: number; reads: { keys: number } }

export type Pool = {
  name: string
  members: readonly Member[]
  nodeOf(key: string): GuardedNode
  /** In key order. Never rejects. */
  getMany(keys: readonly string[]): Promise<readonly Answer[]>
  /** False: the node failed, or refused the value. */
  set(key: string, stamped: Stamped, endsAt: number): Promise<boolean>
  cas(key: string, stamped: Stamped, state: number, endsAt: number): Promise<boolean>
  /** Sets the value without waiting. */
  setQuietly(key: string, stamped: Stamped, endsAt: number): void
  /** Stores the value without waiting, unless the key has changed since the answer `seen`. */
  fillQuietly(key: string, stamped: Stamped, seen: Held | undefined, endsAt: number): void
}

export function makePool(name: string, members: readonly Member[]): Pool {
  const placeOf = makeRendezvous(members.map(({ node, weight }) => ({ name: node.address, weight })))
  const memberOf = (key: string): Member => members[placeOf(key)] as Member

  async function getOf({ node, reads }: Member, keys: readonly string[]): Promise<readonly Answer[]> {
    if (!node.isDown()) reads.keys += keys.length
    return (await node.ask((client) => client.getMany(keys))) ?? keys.map(() => null)
  }

  /** One request per node that has some of the keys. */
  async function getSpread(keys: readonly string[]): Promise<Answer[]> {
    const parts = new Map<Member, { keys: string[]; places: number[] }>()
    keys.forEach((key, place) => {
      const member = memberOf(key)
      let part = parts.get(member)
      if (part === undefined) parts.set(member, (part = { keys: [], places: [] }))
      part.keys.push(key)
      part.places.push(place)
    })
    const answers = Array.from<Answer>({ length: keys.length })
    await Promise.all(
      Array.from(parts, async ([member, part]) => {
        const some = await getOf(member, part.keys)
        part.places.forEach((place, index) => (answers[place] = some[index]))
      }),
    )
    return answers
  }

  const quietly = (key: string, write: (client: GuardedNode['client']) => void): void => {
    const { node } = memberOf(key)
    if (!node.isDown()) write(node.client)
  }

  return {
    name,
    members,
    nodeOf: (key) => memberOf(key).node,
    getMany: (keys) => (members.length === 1 ? getOf(members[0] as Member, keys) : getSpread(keys)),
    set: async (key, stamped, endsAt) => (await memberOf(key).node.ask((client) => client.set(key, stamped, endsAt))) === true,
    cas: async (key, stamped, state, endsAt) =>
      (await memberOf(key).node.ask((client) => client.cas(key, stamped, state, endsAt))) === true,
    setQuietly: (key, stamped, endsAt) => quietly(key, (client) => client.setQuietly(key, stamped, endsAt)),
    fillQuietly: (key, stamped, seen, endsAt) => quietly(key, (client) => client.fillQuietly(key, stamped, seen?.state, endsAt)),
  }
}
