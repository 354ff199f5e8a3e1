/**
 * What stands where. Every key carries its region's hash tag; viewers and businesses are readable text, so that an
 * operator finds them with `redis-cli`; what repeats per record is packed (`values.ts`).
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm{TAG}c1:42` | hash | contents of viewer 42 in business 1: packed oid → record; empty field → the timeline's state |
 * | `tm{TAG}t1:42` | sorted set | his timeline: score −viewedAt, member packed oid |
 * | `tm{TAG}s42` | hash | his settings: `paused`, `version`, `c1` = clearedAt of business 1. Never expires |
 * | `tm{TAG}d` | sorted set | dirty marks: score = time of the first unpersisted change, member packed viewer + business + oid |
 * | `tm{TAG}x` | sorted set | tombstones: score = time of deletion, members alike. May name what is none any more |
 * | `tm{TAG}r` | sorted set | rewards not yet in the log: score = time of the claim, member packed viewer + business + day |
 * | `tm{TAG}v` | string | the last version given in this region |
 * | `tm{TAG}f42` | shard channel | changes of viewer 42, for his followers; of database 3 `tm{TAG}3f42` |
 * | `tm{TAG}a…` | string | the answer of a deletion, clearing or pausing, for a minute: see `answer.lua` |
 * | `tm{TAG}n` | – | never there: see `probe.lua` |
 * | `tm-meta` | hash | the format and the region count these keys were written with |
 *
 * The score is negative so that a timeline in the set's own order is newest first, and entries of one moment are in the
 * order of their packed oids: exactly `comparePlaces`.
 */
import type { BusinessNumber, ProgressKey, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'
import { regionOf } from '../../../../core/regions.ts'
import { regionTags, slotOf } from '../../../../stores/redis/region-tags.ts'
import { unpackGroup } from '../../../../stores/redis/packing.ts'

/** Written into `tm-meta`; raised when the layout changes in a way older code would misread. */
export const FORMAT = '1'

export type Layout = ReturnType<typeof makeLayout>

/** `database`: the number of the one that the keys are in. Channels belong to none, so it stands in their names, except 0. */
export function makeLayout(prefix: string, regions: number, database = 0) {
  const tags = regionTags(regions)
  const roots = tags.map((tag) => `${prefix}{${tag}}`)
  const heard = database === 0 ? 'f' : `${database}f`
  const rootOf = (region: number): string => roots[region] as string
  return {
    prefix,
    regions,
    meta: `${prefix}-meta`,
    regionOf: (viewer: ViewerId): number => regionOf(viewer, regions),
    slot: (region: number): number => slotOf(tags[region] as string),
    contents: (region: number, viewer: ViewerId, business: BusinessNumber) => `${rootOf(region)}c${business}:${viewer}`,
    timeline: (region: number, viewer: ViewerId, business: BusinessNumber) => `${rootOf(region)}t${business}:${viewer}`,
    settings: (region: number, viewer: ViewerId) => `${rootOf(region)}s${viewer}`,
    channel: (region: number, viewer: ViewerId) => `${rootOf(region)}${heard}${viewer}`,
    dirty: (region: number) => `${rootOf(region)}d`,
    tombstones: (region: number) => `${rootOf(region)}x`,
    rewards: (region: number) => `${rootOf(region)}r`,
    version: (region: number) => `${rootOf(region)}v`,
    answer: (region: number, call: string) => `${rootOf(region)}a${call}`,
    never: (region: number) => `${rootOf(region)}n`,
    /** The region of a key; undefined where it has none of our tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },
    /** What SCAN is asked for to find every contents key of a node. Finds a few others too: see `contentsOf`. */
    contentsPattern: `${prefix.replaceAll(/[*?[\]\\^-]/g, '\\$&')}{*}c*`,
    /** Whose contents stand under this key; undefined for any other key. */
    contentsOf(key: string): { region: number; viewer: ViewerId; business: BusinessNumber } | undefined {
      const parts = /^\{[0-9a-z]+\}c(\d+):(.+)$/s.exec(key.slice(prefix.length))
      if (!key.startsWith(prefix) || parts === null) return undefined
      const [, business, viewer] = parts as unknown as [string, string, string]
      return { region: regionOf(viewer, regions), viewer, business: Number(business) }
    },
  }
}

const scratch = Buffer.allocUnsafe(2 * PACKED_ID_BYTES_MAX + 2)

export function packOid(oid: string): Buffer {
  return Buffer.from(scratch.subarray(0, packId(oid, scratch, 0)))
}

export function packMember(key: ProgressKey): Buffer {
  const oidAt = scratch.writeUInt16BE(key.business, packId(key.viewer, scratch, 0))
  return Buffer.from(scratch.subarray(0, packId(key.oid, scratch, oidAt)))
}

export function unpackMember(member: Buffer): ProgressKey {
  const { viewer, business, end } = unpackGroup(member)
  return { viewer, business, oid: unpackId(member, end) }
}
