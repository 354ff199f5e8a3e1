/**
 * The keys of history. Every key has its region's hash tag. Viewers and businesses are readable text, so that an operator finds them with
 * `redis-cli`; data per record is packed (`values.ts`).
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm{TAG}c1:42` | hash | contents of viewer 42 in business 1: packed oid → record; empty field → the timeline's state |
 * | `tm{TAG}t1:42` | sorted set | the viewer's timeline: score −viewedAt, member packed oid |
 * | `tm{TAG}s42` | hash | the viewer's settings: `paused`, `version`, `c1` = clearedAt of business 1. Never expires |
 * | `tm{TAG}d` | sorted set | dirty marks: score = time of the first unpersisted change, member packed viewer + business + oid |
 * | `tm{TAG}x` | sorted set | tombstones: score = time of deletion, same members. An entry may outlive its tombstone |
 * | `tm{TAG}r` | sorted set | rewards not yet in the log: score = time of the claim, member packed viewer + business + day |
 * | `tm{TAG}y42` | string | the last day that viewer 42 claimed for all businesses. Expires after three days |
 * | `tm{TAG}v` | string | the last version assigned in this region |
 * | `tm{TAG}f42` | shard channel | changes of viewer 42, for followers; of database 3 `tm{TAG}3f42` |
 * | `tm{TAG}a…` | string | the answer of a deletion, clearing or pausing, for a minute: see `answer.lua` |
 * | `tm{TAG}n` | – | never present: see `probe.lua` |
 * | `tm-meta` | hash | the format and the region count these keys were written with |
 *
 * Scores are negative so that a timeline in the set's own order is newest first, with entries of one moment in the order of their packed
 * oids. This is exactly `comparePlaces`.
 */
import type { BusinessNumber, ProgressKey, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'
import { regionOf } from '../../../../core/regions.ts'
import { regionTags, slotOf } from '../../../../stores/redis/region-tags.ts'
import { unpackGroup } from '../../../../stores/redis/packing.ts'

/** Stored in `tm-meta`; raised when the layout changes in a way that older code would misread. */
export const FORMAT = '1'

export type Layout = ReturnType<typeof makeLayout>

/** `database`: the database of the keys. Channels belong to no database, so their names include its number, except 0. */
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
    claimedDay: (region: number, viewer: ViewerId) => `${rootOf(region)}y${viewer}`,
    answer: (region: number, call: string) => `${rootOf(region)}a${call}`,
    never: (region: number) => `${rootOf(region)}n`,
    /** The region of a key; undefined if it has none of this layout's tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },
    /** The SCAN pattern for every contents key of a node. It matches a few other keys too: see `contentsOf`. */
    contentsPattern: `${prefix.replaceAll(/[*?[\]\\^-]/g, '\\$&')}{*}c*`,
    /** The viewer and business of a contents key; undefined for any other key. */
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
