/**
 * Claimed rewards that the log does not have yet. They are few: each leaves within a round of the sweeper.
 *
 *     u16 region · packed viewer · u16 business · u32 day · (except for views) u8 kind  →  claimedAt (6 bytes)
 */
import type { RewardEvent, RewardKind } from '../../../core/domain.ts'
import { REWARD_KINDS, rewardOf } from '../../../core/rewards.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../core/keys.ts'
import { regionOf } from '../../../core/regions.ts'
import type { Bytes } from '../../../stores/lmdb/environment.ts'

/** The table of the layout above. */
export type RewardTables = { readonly rewards: Bytes }

export const REWARD_TIME_BYTES = 6
const VIEWER_AT = 2
const scratch = Buffer.allocUnsafeSlow(VIEWER_AT + PACKED_ID_BYTES_MAX + 2 + 4 + 1)

/** Valid until the next call. */
export function rewardKey(region: number, viewer: string, business: number, day: number, kind: RewardKind = 'FIRST_VIEW'): Buffer {
  scratch.writeUInt16BE(region, 0)
  const businessAt = packId(viewer, scratch, VIEWER_AT)
  const end = scratch.writeUInt32BE(day, scratch.writeUInt16BE(business, businessAt))
  if (kind === 'FIRST_VIEW') return scratch.subarray(0, end)
  return scratch.subarray(0, scratch.writeUInt8(REWARD_KINDS.indexOf(kind), end))
}

export function rewardOfKey(key: Buffer): RewardEvent {
  const viewer = unpackId(key, VIEWER_AT)
  const businessAt = VIEWER_AT + packedIdLength(key, VIEWER_AT)
  const business = key.readUInt16BE(businessAt)
  const day = key.readUInt32BE(businessAt + 2)
  return rewardOf(viewer, business, day, REWARD_KINDS[key[businessAt + 6] ?? 0])
}

export function rewardsOfRegion(region: number): { start: Buffer; end: Buffer } {
  const [start, end] = [Buffer.alloc(2), Buffer.alloc(2)]
  start.writeUInt16BE(region)
  end.writeUInt16BE(region + 1)
  return { start, end }
}

export function listPendingRewards(tables: RewardTables, regions: readonly number[], claimedBefore: number, limit: number): RewardEvent[] {
  const rewards: RewardEvent[] = []
  for (const region of regions) {
    for (const { key, value } of tables.rewards.getRange(rewardsOfRegion(region))) {
      if (rewards.length === limit) return rewards
      if (value.readUIntBE(0, REWARD_TIME_BYTES) <= claimedBefore) rewards.push(rewardOfKey(key))
    }
  }
  return rewards
}

export function confirmReward(tables: RewardTables, regions: number, reward: RewardEvent): void {
  void tables.rewards.remove(rewardKey(regionOf(reward.viewer, regions), reward.viewer, reward.business, reward.day, reward.kind))
}
