/**
 * Followers of viewers' changes, in this process, over sharded publish/subscribe. The scripts publish within the write,
 * to one channel per viewer: so a process hears only of the viewers it follows, however many others write, and a viewer
 * whom nobody follows costs the put script one look at a table. The channel has the region's hash tag: on a Cluster it
 * lives on the node that runs the script.
 *
 * Messages are told at most once and may be lost while a connection is made again or a slot moves; then followers are told
 * of the gap, and ask for the present state.
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

/** As the scripts publish: a letter, the business (2), then of a record its oid after its length (1) and the record. */
function decodeChange(viewer: ViewerId, message: Buffer): ProgressChange {
  const letter = String.fromCharCode(message[0] as number)
  const business = message.readUInt16BE(1)
  if (letter === 'c') return { kind: 'cleared', viewer, business, clearedAt: message.readUIntBE(3, 6), version: readVersion(message, 9) }
  const oid = unpackId(message, 4)
  const record = decodeRecord(message, 4 + (message[3] as number))
  return { kind: letter === 'd' ? 'deleted' : 'put', viewer, business, oid, record }
}
