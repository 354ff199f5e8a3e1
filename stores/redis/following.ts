/**
 * Followers of viewers' changes, in this process, over sharded publish/subscribe. The scripts publish within the write,
 * to one channel per viewer: so a process hears only of the viewers it follows, however many others write, and a viewer
 * whom nobody follows costs the put script one look at a table. The channel has the region's hash tag: on a Cluster it
 * lives on the node that runs the script.
 *
 * Messages are told at most once and may be lost while a connection is made again or a slot moves; who reconnects asks
 * for the present state.
 */
import type { ProgressChange, ViewerId } from '../../core/domain.ts'
import { unpackId } from '../../core/keys.ts'
import type { Connection } from './connection.ts'
import type { Layout } from './layout.ts'
import { decodeRecord, readVersion } from './values.ts'

type Listener = (change: ProgressChange) => void
type Followed = { viewer: ViewerId; listeners: Set<Listener>; subscribed: Promise<void> }

export function makeFollowing(connection: Connection, layout: Layout) {
  const followed = new Map<string, Followed>()
  let listening = false

  function listen(): void {
    if (listening) return
    listening = true
    connection.subscriber().on('smessageBuffer', (channel: Buffer | string, message: Buffer) => {
      const entry = followed.get(String(channel))
      if (entry === undefined) return
      const change = decodeChange(entry.viewer, message)
      for (const { listener } of [...entry.listeners].map((listener) => ({ listener }))) listener(change)
    })
  }

  return {
    async followProgress(viewer: ViewerId, listener: Listener): Promise<() => void> {
      listen()
      const channel = layout.channel(layout.regionOf(viewer), viewer)
      let entry = followed.get(channel)
      if (entry === undefined) {
        const subscribed = connection.insist(async () => void (await connection.subscriber().ssubscribe(channel)))
        entry = { viewer, listeners: new Set(), subscribed }
        followed.set(channel, entry)
      }
      const { listeners, subscribed } = entry
      // A listener of its own, so that one function may follow twice.
      const own: Listener = (change) => listener(change)
      listeners.add(own)
      const stop = (): void => {
        if (!listeners.delete(own) || listeners.size > 0 || followed.get(channel)?.listeners !== listeners) return
        followed.delete(channel)
        // If this fails the connection is gone, and its subscriptions with it.
        connection
          .subscriber()
          .sunsubscribe(channel)
          .catch(() => undefined)
      }
      try {
        await subscribed
      } catch (error) {
        stop()
        throw error
      }
      return stop
    },
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
