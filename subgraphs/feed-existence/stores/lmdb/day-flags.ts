/**
 * Day flags: u32 day · u8 kind · u16 business · packed viewer, without a value. Keys are in order of days, so old flags come first. Each
 * claim removes a few of them, more than it adds.
 */
import { utcDayOf } from '../../../../core/days.ts'
import type { BusinessNumber, RewardKind, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import { regionOf } from '../../../../core/regions.ts'
import { REWARD_KINDS } from '../../../../core/rewards.ts'
import type { Bytes } from '../../../../stores/lmdb/environment.ts'
import { encodeTime } from './values.ts'
import { rewardKey } from '../../../../writeback/stores/lmdb/pending-rewards.ts'

export type DayTables = { days: Bytes; rewards: Bytes }

const ROOT_BYTES = 4 + 1 + 2
const REMOVED_MAX = 4
const NOTHING = Buffer.allocUnsafeSlow(0)

/** To be called in a transaction. True if the day was not yet claimed; the reward then waits for the log. */
export function claimDay(
  { days, rewards }: DayTables,
  regions: number,
  claim: { viewer: ViewerId; business: BusinessNumber; day: number; kind: RewardKind },
  now: number,
): boolean {
  const { viewer, business, day, kind } = claim
  const bytes = Buffer.allocUnsafe(ROOT_BYTES + PACKED_ID_BYTES_MAX)
  const viewerAt = bytes.writeUInt16BE(business, bytes.writeUInt8(REWARD_KINDS.indexOf(kind), bytes.writeUInt32BE(day)))
  const key = bytes.subarray(0, packId(viewer, bytes, viewerAt))
  if (days.getBinaryFast(key) !== undefined) return false
  // Flags of yesterday are still read, and in some time zone it is yesterday already, or still.
  const end = Buffer.alloc(4)
  end.writeUInt32BE(Math.max(0, Math.min(day, utcDayOf(now) - 2)))
  for (const old of [...days.getKeys({ end, limit: REMOVED_MAX })]) void days.remove(old)
  void days.put(key, NOTHING)
  void rewards.put(rewardKey(regionOf(viewer, regions), viewer, business, day, kind), encodeTime(now))
  return true
}
