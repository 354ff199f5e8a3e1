/**
 * The keys of the feed. Each key has the hash tag of its author's or viewer's region, and a script touches one region.
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm:feed:post:{TAG}:0ab3…` | string | a post: 0 or 1 (a tombstone), and the message. The id has 16 hexadecimal digits |
 * | `tm:feed:key:{TAG}:42` | hash | the client keys of author 42: client key → id (8 bytes), hash of the contents (8 bytes) |
 * | `tm:feed:outbox:{TAG}:42` | string | public posts of author 42: packed ids (`packed/vector.ts`) |
 * | `tm:feed:deleted:{TAG}:42` | sorted set | ids removed from that outbox: score tick, member 8 bytes |
 * | `tm:feed:inbox:{TAG}:42` | string | posts for viewer 42: packed ids |
 * | `tm:feed:recalled:{TAG}:42` | sorted set | ids removed from that inbox, in the same form |
 * | `tm:feed:words:{TAG}:42` | string | the filter words of viewer 42: the message |
 * | `tm:feed:dirty:{TAG}` | sorted set | dirty marks: score = first unpersisted change (ms), member below |
 * | `tm:feed:changes:{TAG}` | sorted set | noted changes: score tick, member cache key. The region's clock. Below |
 * | `tm:feed:held:{TAG}` | list | every change of a held post in order: id (8 bytes), version (double, little endian). For purges |
 * | `tm:feed:never:{TAG}` | – | never present: see `probe.lua` |
 * | `tm:feed:meta` | hash | the format and the region count these keys were written with |
 *
 * The noted changes have two more members: `+` has the region's last tick, and `-` the tick of the newest forgotten change, which begins as the region's first tick. One range above
 * a tick thus gives the changes, the clock, and whether older ones are missing. The member of a dirty mark is the id (8 bytes) and the
 * author of a post, or 0xFF and the viewer of words. No id begins with 0xFF.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'
import { regionOf } from '../../../../core/regions.ts'
import { regionTags, slotOf } from '../../../../stores/redis/region-tags.ts'
import type { DirtyKey } from '../../model/dirty-keys.ts'
import type { PostId } from '../../packed/post-id.ts'

/** Stored in `tm:feed:meta`. Raise it when older code would misread the layout. */
export const FEED_FORMAT = '1'

export const CLOCK = '+'
export const FORGOTTEN = '-'

const ID_BYTES = 8
const WORDS = 0xff

export type FeedLayout = ReturnType<typeof makeFeedLayout>

export function makeFeedLayout(prefix: string, regions: number) {
  const tags = regionTags(regions)
  const ofRegion =
    (kind: string) =>
    (region: number): string =>
      `${prefix}:feed:${kind}:{${tags[region]}}`
  /** Without a viewer: the beginning of the keys. */
  const ofViewer =
    (kind: string) =>
    (region: number, viewer: ViewerId = ''): string =>
      `${prefix}:feed:${kind}:{${tags[region]}}:${viewer}`
  const changes = ofRegion('changes')

  return {
    regions,
    meta: `${prefix}:feed:meta`,
    regionOf: (viewer: ViewerId): number => regionOf(viewer, regions),
    slot: (region: number): number => slotOf(tags[region] as string),
    /** The region of a key; undefined if it has none of this layout's tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },
    /** Where the last version is. */
    version: changes,

    posts: ofViewer('post'),
    post: (region: number, id: PostId): string =>
      `${ofViewer('post')(region)}${BigInt(id)
        .toString(16)
        .padStart(2 * ID_BYTES, '0')}`,
    clientKeys: ofViewer('key'),
    outbox: ofViewer('outbox'),
    deleted: ofViewer('deleted'),
    inbox: ofViewer('inbox'),
    recalled: ofViewer('recalled'),
    words: ofViewer('words'),
    dirty: ofRegion('dirty'),
    changes,
    held: ofRegion('held'),
    never: ofRegion('never'),
  }
}

export function packPostId(id: PostId): Buffer {
  const packed = Buffer.allocUnsafe(ID_BYTES)
  packId(id, packed, 0)
  return packed
}

export function packMember({ viewer, post }: DirtyKey): Buffer {
  const target = Buffer.allocUnsafe(ID_BYTES + ID_BYTES_MAX)
  const at = post === undefined ? target.writeUInt8(WORDS) : packId(post, target, 0)
  return target.subarray(0, at + target.write(viewer, at))
}

export function unpackMember(member: Buffer): DirtyKey {
  if (member[0] === WORDS) return { viewer: member.toString('utf8', 1), post: undefined }
  return { viewer: member.toString('utf8', ID_BYTES), post: unpackId(member, 0) }
}
