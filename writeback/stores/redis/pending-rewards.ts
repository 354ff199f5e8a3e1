/**
 * Rewards that wait for the log, in one sorted set per region: score = time of the claim, member = packed viewer + business + day, and the
 * kind unless it is a view.
 */
import type { RewardEvent, ViewerId } from '../../../core/domain.ts'
import { REWARD_KINDS, rewardOf } from '../../../core/rewards.ts'
import type { Connection } from '../../../stores/redis/connection.ts'
import { groupByRegion } from '../../../stores/redis/grouping.ts'
import { listMembers } from '../../../stores/redis/region-sets.ts'
import { packGroup, unpackGroup } from '../../../stores/redis/packing.ts'

export function makePendingRewards(connection: Connection, setOf: (region: number) => string, regionOf: (viewer: ViewerId) => number) {
  return {
    async listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]> {
      return (await listMembers(connection, setOf, regions, claimedBefore, limit)).map(unpackReward)
    },

    async confirmRewards(rewards: readonly RewardEvent[]): Promise<void> {
      const batches = groupByRegion(rewards, (reward) => reward, regionOf)
      await connection.send(
        batches.map(({ region, items }) => ({ name: 'zrem', args: [setOf(region), ...items.map(({ item }) => packReward(item))] })),
      )
    },
  }
}

export function packReward({ viewer, business, day, kind }: Omit<RewardEvent, 'id'>): Buffer {
  const packed = Buffer.allocUnsafe(5)
  packed[packed.writeUInt32BE(day)] = REWARD_KINDS.indexOf(kind)
  return Buffer.concat([packGroup(viewer, business), kind === 'FIRST_VIEW' ? packed.subarray(0, 4) : packed])
}

function unpackReward(member: Buffer): RewardEvent {
  const { viewer, business, end } = unpackGroup(member)
  return rewardOf(viewer, business, member.readUInt32BE(end), REWARD_KINDS[member[end + 4] ?? 0])
}
