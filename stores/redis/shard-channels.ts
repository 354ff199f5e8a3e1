/**
 * Subscriptions to shard channels, each on the node that holds its slot, over separate connections. They follow the slot: a misplaced
 * channel is subscribed again when a connection ends, when a server reports that it gave a slot away, and when the client learns of another
 * owner. A channel leaves the old node before it is subscribed on the new one: a message may be missed, but never comes twice. (The
 * subscribers of ioredis stay silent if a slot went away and came back between two refreshes of the topology.)
 */
import type { Redis } from 'ioredis'
import type { Connection } from './connection.ts'
import type { GapSide } from '../../core/domain.ts'
import { makeShardLinks } from './shard-links.ts'
import { forgetLink, makeShardPlacement, type ShardSubscription } from './shard-placement.ts'

/** Interval of the regular check of all channels and links. */
const LOOK_MS = 5_000
const AGAIN_MS = 50
const AGAIN_MAX_MS = 1_000

/** `onGap` is called before a channel is subscribed again and after it: messages may have been missed. */
export function makeShardChannels(
  connection: Connection,
  onMessage: (channel: string, message: Buffer) => void,
  onGap: (channel: string, side: GapSide) => void,
) {
  const subscriptions = new Map<string, ShardSubscription>()
  const links = makeShardLinks(onMessage, forget)
  const place = makeShardPlacement({ ownerOf, refreshTopology: connection.refreshTopology }, links, subscriptions, onGap)
  let looking: NodeJS.Timeout | undefined
  let repairing: NodeJS.Timeout | undefined
  let closed = false

  function ownerOf(slot: number): Redis | undefined {
    return closed ? undefined : connection.ownerOf(slot)
  }

  function forget(link: Redis): void {
    forgetLink(subscriptions.values(), link)
    connection.refreshTopology()
    repairSoon()
  }

  function repairSoon(delayMs = AGAIN_MS): void {
    if (closed || repairing !== undefined || subscriptions.size === 0) return
    repairing = setTimeout(() => {
      void repair().finally(() => {
        repairing = undefined
        if ([...subscriptions.values()].some(({ link }) => link === undefined)) repairSoon(Math.min(delayMs * 2, AGAIN_MAX_MS))
      })
    }, delayMs)
    repairing.unref()
  }

  async function repair(): Promise<void> {
    // The next check repairs failures.
    await Promise.allSettled([...subscriptions].map(([channel, subscription]) => place(channel, subscription)))
  }

  function look(): void {
    connection.refreshTopology()
    links.probe()
    repairSoon()
  }

  return {
    /** True if messages of this channel arrive now. */
    isHeard: (channel: string): boolean => subscriptions.get(channel)?.link !== undefined,

    /**
     * Resolves when messages arrive, at once for a subscribed channel. Rejects with HOT_STORE_UNAVAILABLE if that takes too long. It then
     * keeps trying until `unsubscribe`, and `onGap` reports when messages arrive.
     */
    async subscribe(channel: string, slot: number): Promise<void> {
      if (looking === undefined) {
        looking = setInterval(look, LOOK_MS).unref()
        connection.onTopology(() => repairSoon())
      }
      const subscription = subscriptions.get(channel) ?? { slot, link: undefined, target: undefined, placing: undefined, wasPlaced: false }
      subscriptions.set(channel, subscription)
      try {
        await connection.insist(async () => {
          if (subscription.link === undefined) await place(channel, subscription)
        })
      } catch (error) {
        subscription.wasPlaced = true
        repairSoon()
        throw error
      }
    },

    unsubscribe(channel: string): void {
      const subscription = subscriptions.get(channel)
      subscriptions.delete(channel)
      // If this fails, the connection is gone, with its subscriptions.
      subscription?.link?.sunsubscribe(channel).catch(() => undefined)
    },

    close(): void {
      closed = true
      clearInterval(looking)
      clearTimeout(repairing)
      links.close()
    },
  }
}
