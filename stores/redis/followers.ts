/** The followers of channels in this process: one subscription per channel, however many listeners it has. */
import type { Connection } from './connection.ts'
import { makeShardChannels } from './shard-channels.ts'
import type { GapSide } from '../../core/domain.ts'

type Followed<T> = {
  /** Undefined if the message has no change. */
  decode: (message: Buffer) => T | undefined
  listeners: Set<(change: T) => void>
  gaps: Set<(side: GapSide) => void>
  subscribed: Promise<void>
}

export function makeFollowers<T>(connection: Connection) {
  const followed = new Map<string, Followed<T>>()
  const channels = makeShardChannels(
    connection,
    (channel, message) => {
      const entry = followed.get(channel)
      const change = entry?.decode(message)
      if (entry === undefined || change === undefined) return
      for (const tell of [...entry.listeners]) tell(change)
    },
    (channel, side) => {
      for (const tell of [...(followed.get(channel)?.gaps ?? [])]) tell(side)
    },
  )

  return {
    /** Resolves when following has begun, with a function that ends it. A channel uses the `decode` of its first follower. */
    async follow(
      channel: string,
      slot: number,
      decode: (message: Buffer) => T | undefined,
      listener: (change: T) => void,
      onGap: (side: GapSide) => void,
    ): Promise<() => void> {
      let entry = followed.get(channel)
      if (entry === undefined) {
        entry = { decode, listeners: new Set(), gaps: new Set(), subscribed: channels.subscribe(channel, slot) }
        followed.set(channel, entry)
      }
      const { listeners, gaps, subscribed } = entry
      // A separate function per listener, so that one function may follow twice. Its errors are thrown, but not through ioredis' parser.
      const own = (change: T): void => {
        try {
          listener(change)
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
      }
      const ownGap = (side: GapSide): void => onGap(side)
      listeners.add(own)
      gaps.add(ownGap)
      const stop = (): void => {
        gaps.delete(ownGap)
        if (!listeners.delete(own) || listeners.size > 0 || followed.get(channel)?.listeners !== listeners) return
        followed.delete(channel)
        channels.unsubscribe(channel)
      }
      try {
        await subscribed
      } catch (error) {
        stop()
        throw error
      }
      return stop
    },

    close: () => channels.close(),
  }
}
