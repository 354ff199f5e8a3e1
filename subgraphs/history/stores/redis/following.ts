/**
 * Followers of viewers' changes in this process, over sharded publish/subscribe. The scripts publish as part of the write, to one channel
 * per viewer. A process therefore receives only changes of viewers that it follows. For a viewer without followers, the put script needs
 * one lookup. The channel has the region's hash tag: on a Cluster it is on the node that runs the script.
 *
 * Messages arrive at most once, and may be lost during a reconnect or while a slot moves. Followers are then notified of the gap, and read
 * the current state.
 */
import { ALL_BUSINESSES, type ProgressChange, type ViewerId, type GapSide } from '../../../../core/domain.ts'
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

/** Where `changes.lua` puts the letter of its messages: behind a clearing of business 0. */
const LETTER_AT = 16

/** The format of the scripts: a letter, the business (2), then, for a record, its oid after its length (1) and the record. */
function decodeChange(viewer: ViewerId, message: Buffer): ProgressChange {
  const letter = String.fromCharCode(message[0] as number)
  const business = message.readUInt16BE(1)
  if (letter === 'c' && message.length > LETTER_AT) return decodeOther(viewer, message)
  if (letter === 'c') return { kind: 'cleared', viewer, business, clearedAt: message.readUIntBE(3, 6), version: readVersion(message, 9) }
  const oid = unpackId(message, 4)
  const record = decodeRecord(message, 4 + (message[3] as number))
  return { kind: letter === 'd' ? 'deleted' : 'put', viewer, business, oid, record }
}

/** The format of `changes.lua`: a value (6), the version (7), a letter, and for a day its business (2). */
function decodeOther(viewer: ViewerId, message: Buffer): ProgressChange {
  const [value, version] = [message.readUIntBE(3, 6), readVersion(message, 9)]
  if (message[LETTER_AT] === 's'.charCodeAt(0)) return { kind: 'paused', viewer, business: ALL_BUSINESSES, paused: value === 1, version }
  return { kind: 'day', viewer, business: message.readUInt16BE(LETTER_AT + 1), day: value, version }
}
