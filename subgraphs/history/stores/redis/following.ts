/**
 * Followers of viewers' changes in this process, over sharded publish/subscribe. The scripts publish as part of the write, to one channel
 * per viewer. A process therefore receives only changes of viewers that it follows. For a viewer without followers, the put script needs
 * one lookup. The channel has the region's hash tag: on a Cluster it is on the node that runs the script.
 *
 * Messages arrive at most once, and may be lost during a reconnect or while a slot moves. Followers are then notified of the gap, and read
 * the current state.
 */
import type { ProgressChange, ViewerId, GapSide } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { makeFollowers } from '../../../../stores/redis/followers.ts'
import type { Layout } from './keys.ts'
import { decodeRecord } from './values.ts'
import { readVersion } from '../../../../stores/redis/packing.ts'

export function makeFollowing(connection: Connection, layout: Layout) {
  const followers = makeFollowers<ProgressChange>(connection)
  return {
    followProgress(
      viewer: ViewerId,
      listener: (change: ProgressChange) => void,
      onGap: (side: GapSide) => void = () => undefined,
    ): Promise<() => void> {
      const region = layout.regionOf(viewer)
      const decode = (message: Buffer): ProgressChange => decodeChange(viewer, message)
      return followers.follow(layout.channel(region, viewer), layout.slot(region), decode, listener, onGap)
    },

    closeFollowing: followers.close,
  }
}

/** The format of the scripts: a letter, the business (2), then, for a record, its oid after its length (1) and the record. */
function decodeChange(viewer: ViewerId, message: Buffer): ProgressChange {
  const letter = String.fromCharCode(message[0] as number)
  const business = message.readUInt16BE(1)
  if (letter === 'c') return { kind: 'cleared', viewer, business, clearedAt: message.readUIntBE(3, 6), version: readVersion(message, 9) }
  const oid = unpackId(message, 4)
  const record = decodeRecord(message, 4 + (message[3] as number))
  return { kind: letter === 'd' ? 'deleted' : 'put', viewer, business, oid, record }
}
