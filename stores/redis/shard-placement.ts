/** Subscribes a shard channel on the node that holds its slot. It leaves the old node first, so no message comes twice. */
import type { Redis } from 'ioredis'
import type { GapSide } from '../../core/domain.ts'
import type { ShardLinks } from './shard-links.ts'

export type ShardSubscription = {
  slot: number
  /** The connection it is subscribed on; undefined while it has to be placed. */
  link: Redis | undefined
  /** The connection on which it is being subscribed. Undefined again if that is lost meanwhile. */
  target: Redis | undefined
  /** One placement at a time, or two nodes might both have the channel. */
  placing: Promise<void> | undefined
  /** True if it was subscribed before. */
  wasPlaced: boolean
}

type Nodes = { ownerOf(slot: number): Redis | undefined; refreshTopology(): void }

/** The link ended, or its server gave a slot away. */
export function forgetLink(subscriptions: Iterable<ShardSubscription>, link: Redis): void {
  for (const subscription of subscriptions) {
    if (subscription.link === link) subscription.link = undefined
    if (subscription.target === link) subscription.target = undefined
  }
}

/** Returns the function that places a channel. It rejects while the node is unknown or refuses. */
export function makeShardPlacement(
  nodes: Nodes,
  links: ShardLinks,
  subscriptions: ReadonlyMap<string, ShardSubscription>,
  onGap: (channel: string, side: GapSide) => void,
) {
  async function placeNow(channel: string, subscription: ShardSubscription): Promise<void> {
    const node = nodes.ownerOf(subscription.slot)
    if (node === undefined) throw new Error(`Cluster isn't ready: no known node holds slot ${subscription.slot}`)
    const link = links.linkTo(node)
    if (subscription.link === link) return
    const before = subscription.link
    subscription.link = undefined
    await before?.sunsubscribe(channel).catch(() => undefined)
    // Called now, and not with the answer: messages may arrive at once.
    if (subscription.wasPlaced) onGap(channel, 'begins')
    subscription.target = link
    try {
      await link.ssubscribe(channel)
    } catch (error) {
      nodes.refreshTopology()
      throw error
    }
    // Meanwhile the link may have ended, its server may have given the slot away, or the last follower may have left.
    if (link.status === 'ready' && subscription.target === link) subscription.link = link
    if (!subscriptions.has(channel)) return void (await link.sunsubscribe(channel))
    if (subscription.link !== undefined && subscription.wasPlaced) onGap(channel, 'ends')
    subscription.wasPlaced = true
  }

  return (channel: string, subscription: ShardSubscription): Promise<void> => {
    subscription.placing ??= placeNow(channel, subscription).finally(() => {
      subscription.placing = undefined
    })
    return subscription.placing
  }
}
