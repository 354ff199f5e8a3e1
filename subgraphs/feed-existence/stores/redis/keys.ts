/**
 * The keys of feed existence. Each key has the hash tag of its viewer's region, so that all data of a viewer changes in one step.
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm:issued:{TAG}:1:42` | sorted set | subjects served to viewer 42 in business 1: score its moment (512 a ms), member oid |
 * | `tm:played:{TAG}:42` | sorted set | the viewer's staged plays in any slot and business, and `folds`. Below |
 * | `tm:played:user:{TAG}:3:17` | set | the ring: viewers with staged plays in slot 3, of shard 17 |
 * | `tm:played:layouts` | hash | the ring's layouts: since (ms) → `slots,shards` |
 * | `tm:first:{TAG}:p:1:20000:17` | bitmap | flags of day 20000, business 1: has played (`i`: was served) anything. `day-flags.ts` |
 * | `tm:first:{TAG}:p:1:20000:n3` | set | the same for viewers whose ids are not integers |
 * | `tm:first:pending:{TAG}` | sorted set | rewards not yet in the log. `pending-rewards.ts` |
 * | `tm:played:never:{TAG}` | – | never present: see `probe.lua` |
 * | `tm:played:meta` | hash | the format and the region count these keys were written with |
 *
 * A staged play's member is slot (1 byte), business (2), packed oid. Its score is slot × 2^44 + playedAt. A slot is therefore a range of
 * scores, and one command reads all slots. `folds` is the empty member with the score −folds, before all slots, so it is read at the same
 * moment. It is a time, set by the first staged play. A key with `folds` alone expires; a key with staged plays never does.
 *
 * No kind of key here is the end of another after a colon, or begins like a key of history (`subgraphs/history/stores/redis/keys.ts`).
 */
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'
import { regionOf } from '../../../../core/regions.ts'
import { regionOfShard, shardOf } from '../../model/time-ring.ts'
import type { StagedPlay } from '../hot-store.ts'
import { regionTags, slotOf } from '../../../../stores/redis/region-tags.ts'
import { lengthBefore } from '../../../../stores/redis/packing.ts'

/** Stored in `tm:played:meta`; raised when the layout changes in a way that older code would misread. */
export const SEEN_FORMAT = '1'

/** Number of scores per slot. */
const MOMENTS = 2 ** 44

export type SeenLayout = ReturnType<typeof makeSeenLayout>

export function makeSeenLayout(prefix: string, regions: number) {
  const tags = regionTags(regions)
  const ring = (slot: number, shard: number): string => `${prefix}:played:user:{${tags[regionOfShard(shard, regions)]}}:${slot}:${shard}`
  return {
    regions,
    meta: `${prefix}:played:meta`,
    layouts: `${prefix}:played:layouts`,
    regionOf: (viewer: ViewerId): number => regionOf(viewer, regions),
    slot: (region: number): number => slotOf(tags[region] as string),
    /** The region of a key; undefined if it has none of this layout's tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },

    issued: (region: number, viewer: ViewerId, business: BusinessNumber) => `${prefix}:issued:{${tags[region]}}:${business}:${viewer}`,
    staged: (region: number, viewer: ViewerId) => `${prefix}:played:{${tags[region]}}:${viewer}`,
    ring,
    ringOf: (slot: number, viewer: ViewerId, shards: number) => ring(slot, shardOf(viewer, regions, shards)),
    /** A page of a day's flags. */
    flags: (region: number, kind: 'p' | 'i', business: BusinessNumber, day: number, page: string) =>
      `${prefix}:first:{${tags[region]}}:${kind}:${business}:${day}:${page}`,
    rewards: (region: number) => `${prefix}:first:pending:{${tags[region]}}`,
    never: (region: number) => `${prefix}:played:never:{${tags[region]}}`,
    /** For `probe.lua`, which needs a key that writes use. */
    version: (region: number) => ring(0, region),
  }
}

/** The format of `staged.lua`. */
export function packPlays(slot: number, plays: readonly StagedPlay[]): Buffer {
  const target = Buffer.allocUnsafe(plays.length * (6 + 1 + 3 + PACKED_ID_BYTES_MAX))
  let end = 0
  for (const { business, oid, playedAt } of plays) {
    end = target.writeUIntBE(playedAt, end, 6)
    end = lengthBefore(target, end, (at) => packId(oid, target, target.writeUInt16BE(business, target.writeUInt8(slot, at))))
  }
  return target.subarray(0, end)
}

/** The range of a slot's scores, for ZRANGEBYSCORE. */
export function slotScores(slot: number): [number, string] {
  return [slot * MOMENTS, `(${(slot + 1) * MOMENTS}`]
}

/** Decodes members and scores in turn, as a sorted set's range returns them. */
export function decodeStaged(values: readonly Buffer[]): { folds: number; plays: StagedPlay[] } {
  const plays: StagedPlay[] = []
  let folds = 0
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [member, score] = [values[at] as Buffer, Number(String(values[at + 1]))]
    if (member.length === 0) folds = -score
    else plays.push({ business: member.readUInt16BE(1), oid: unpackId(member, 3), playedAt: score - (member[0] as number) * MOMENTS })
  }
  return { folds, plays }
}
