/**
 * The Redis keys of marks. Keys are readable text, so that operators find them with `redis-cli` and existing tools read them. Each key has
 * its region's hash tag. A viewer's keys are in the viewer's region; a subject's region is the hash of business and oid. One viewer's
 * marks, and all keys of one subject, therefore change in one step.
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm:user:likes:{TAG}:42:1` | sorted set | viewer 42's likes in business 1: score markedAt (ms), member oid |
 * | `tm:user:dislikes:{TAG}:42:1` | sorted set | the viewer's dislikes, alike |
 * | `tm:user:marks:{TAG}:42:1` | hash | further state: oid → pending mark or tombstone; empty field → the viewer's state. `values.ts` |
 * | `tm:marks:dirty:{TAG}` | sorted set | dirty marks: score = first unpersisted change, member packed viewer + business, oid |
 * | `tm:marks:undone:{TAG}` | sorted set | persisted tombstones: score = time of undoing, members alike |
 * | `tm:marks:version:{TAG}` | string | the last version given in this region |
 * | `tm:marks:never:{TAG}` | – | never exists: see `probe.lua` |
 * | `tm:count:{TAG}:1:7` | string | counts of subject 7: `likes,dislikes` |
 * | `tm:count-version:{TAG}:1:7` | string | their version |
 * | `tm:counts-changed:{TAG}` | shard channel | changed counts of all subjects of the region, see `count-values.ts`; of database 3 `…{TAG}3` |
 * | `tm:likers:{TAG}:1:7` | sorted set | its newest likers: score markedAt, member viewer |
 * | `tm:likers-version:{TAG}:1:7` | string | `version,1` if these are all, else `version,0` |
 * | `tm:owner:{TAG}:1:42` | string | likes received by 42 (in 42's region as a viewer): `likes,version` |
 * | `tm:marks:meta` | hash | the format and the region count these keys were written with |
 *
 * A clean like or dislike is only in its sorted set. No kind here is the end of another after a colon, and none begins like a key of
 * history. Deployments with any two prefixes, and the history of each, can therefore share a server.
 */
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX } from '../../../../core/keys.ts'
import { fnv1a, regionOf } from '../../../../core/regions.ts'
import { regionTags, slotOf } from '../../../../stores/redis/region-tags.ts'
import { GROUP_BYTES_MAX, unpackGroup, writeGroup } from '../../../../stores/redis/packing.ts'

/** Stored in `tm:marks:meta`. Raise it when older code would misread the layout. */
export const MARK_FORMAT = '1'

export type MarkLayout = ReturnType<typeof makeMarkLayout>

const VIEWER_KEY = /^:user:(?:likes|dislikes|marks):\{([0-9a-z]+)\}:(.+):(\d+)$/s
const CACHE_KEY = /^:(?:count|count-version|likers|likers-version|owner):\{[0-9a-z]+\}:(\d+):/

/** `database`: the number of the keys' database. Channels belong to no database, so their names contain it, except 0. */
export function makeMarkLayout(prefix: string, regions: number, database = 0) {
  const tags = regionTags(regions)
  const escaped = prefix.replaceAll(/[*?[\]\\^-]/g, '\\$&')
  /** The starts of all keys of a kind, by region. They are made once, because a page has hundreds of keys. */
  const startsOf = (kind: string): string[] => tags.map((tag) => `${prefix}:${kind}:{${tag}}`)
  const region = (kind: string) => {
    const starts = startsOf(`marks:${kind}`)
    return (region: number): string => starts[region] as string
  }
  const viewer = (kind: string) => {
    const starts = startsOf(`user:${kind}`)
    return (region: number, viewer: ViewerId, business: BusinessNumber): string => `${starts[region]}:${viewer}:${business}`
  }
  const subject = (kind: string) => {
    const starts = startsOf(kind)
    // In this order, V8 links fewer strings.
    return (region: number, { business, oid }: Subject): string => (starts[region] as string) + `:${business}:${oid}`
  }
  const owner = subject('owner')
  const [counts, versions] = [startsOf('count'), startsOf('count-version')]
  const tail = (key: string): string => (key.startsWith(prefix) ? key.slice(prefix.length) : '')

  return {
    regions,
    meta: `${prefix}:marks:meta`,
    regionOf: (viewer: ViewerId): number => regionOf(viewer, regions),
    regionOfSubject: ({ business, oid }: Subject): number => fnv1a(`${business}:${oid}`) % regions,
    slot: (region: number): number => slotOf(tags[region] as string),
    /** The region of a key. Undefined if it has none of our tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },

    likes: viewer('likes'),
    dislikes: viewer('dislikes'),
    marks: viewer('marks'),
    dirty: region('dirty'),
    undone: region('undone'),
    version: region('version'),
    never: region('never'),
    count: subject('count'),
    countVersion: subject('count-version'),
    /** Both keys of a subject's counts, in its region. Both have the same end, which is built only once: a page has fifty subjects. */
    keysOfCounts(region: number, { business, oid }: Subject): [counts: string, version: string] {
      const end = `:${business}:${oid}`
      return [(counts[region] as string) + end, (versions[region] as string) + end]
    },
    countsChanged: (region: number): string => `${prefix}:counts-changed:{${tags[region]}}${database === 0 ? '' : database}`,
    likers: subject('likers'),
    likersVersion: subject('likers-version'),
    owner: (region: number, business: BusinessNumber, viewer: ViewerId) => owner(region, { business, oid: viewer }),

    /** The SCAN pattern for all viewers' keys of a business. It may match other keys: see `viewerOf`. */
    viewersPattern: (business: BusinessNumber) => `${escaped}:user:*:{*}:*:${business}`,
    /** The viewer of this key's marks. Undefined for any other key. */
    viewerOf(key: string): { viewer: ViewerId; business: BusinessNumber } | undefined {
      const parts = VIEWER_KEY.exec(tail(key))
      return parts === null ? undefined : { viewer: parts[2] as string, business: Number(parts[3]) }
    },
    /** The same for the cached values of a business. */
    cachePattern: (business: BusinessNumber) => `${escaped}:*:{*}:${business}:*`,
    cachedBusinessOf(key: string): BusinessNumber | undefined {
      const parts = CACHE_KEY.exec(tail(key))
      return parts === null ? undefined : Number(parts[1])
    },
  }
}

/** A member of the dirty marks and of the tombstones. The oid is text, so that scripts can make members. */
export function packMarkMember({ viewer, business, oid }: MarkKey): Buffer {
  const target = Buffer.allocUnsafe(GROUP_BYTES_MAX + PACKED_ID_BYTES_MAX)
  const end = writeGroup(viewer, business, target, 0)
  return target.subarray(0, end + target.write(oid, end))
}

export function unpackMarkMember(member: Buffer): MarkKey {
  const { viewer, business, end } = unpackGroup(member)
  return { viewer, business, oid: member.toString('utf8', end) }
}
