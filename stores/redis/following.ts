/**
 * Followers of viewers' changes, in this process, over sharded publish/subscribe. The scripts publish within the write,
 * to one channel per viewer: so a process hears only of the viewers it follows, however many others write, and a viewer
 * whom nobody follows costs the put script one look at a table. The channel has the region's hash tag: on a Cluster it
 * lives on the node that runs the script.
 *
 * Messages are told at most once and may be lost while a connection is made again or a slot moves; then followers are told
 * of the gap, and ask for the present state.
 */
import type { ProgressChange, ViewerId } from '../../core/domain.ts'
import { unpackId } from '../../core/keys.ts'
import type { GapSide } from '../hot-store.ts'
import type { Connection } from './connection.ts'
import type { Layout } from './layout.ts'
import { makeShardChannels } from './shard-channels.ts'
import { decodeRecord, readVersion } from './values.ts'

type Listener = (change: ProgressChange) => void
type Followed = { viewer: ViewerId; listeners: Set<Listener>; gaps: Set<(side: GapSide) => void>; subscribed: Promise<void> }

export function makeFollowing(connection: Connection, layout: Layout) {
  const followed = new Map<string, Followed>()
  const channels = makeShardChannels(
    connection,
    (channel, message) => {
      const entry = followed.get(channel)
      if (entry === undefined) return
      const change = decodeChange(entry.viewer, message)
      for (const tell of [...entry.listeners]) tell(change)
    },
    (channel, side) => {
      for (const tell of [...(followed.get(channel)?.gaps ?? [])]) tell(side)
    },
  )

  return {
    async followProgress(viewer: ViewerId, listener: Listener, onGap: (side: GapSide) => void = () => undefined): Promise<() => void> {
      const region = layout.regionOf(viewer)
      const channel = layout.channel(region, viewer)
      let entry = followed.get(channel)
      if (entry === undefined) {
        entry = { viewer, listeners: new Set(), gaps: new Set(), subscribed: channels.subscribe(channel, layout.slot(region)) }
        followed.set(channel, entry)
      }
      const { listeners, gaps, subscribed } = entry
      // A listener of its own, so that one function may follow twice.
      // What it throws is thrown, but not through ioredis' parser.
      const own: Listener = (change) => {
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

    closeFollowing: () => channels.close(),
  }
}

/** As the scripts publish: a letter, the business (2), then of a record its oid after its length (1) and the record. */
function decodeChange(viewer: ViewerId, message: Buffer): ProgressChange {
  const letter = String.fromCharCode(message[0] as number)
  const business = message.readUInt16BE(1)
  if (letter === 'c') return { kind: 'cleared', viewer, business, clearedAt: message.readUIntBE(3, 6), version: readVersion(message, 9) }
  const oid = unpackId(message, 4)
  const record = decodeRecord(message, 4 + (message[3] as number))
  return { kind: letter === 'd' ? 'deleted' : 'put', viewer, business, oid, record }
}
