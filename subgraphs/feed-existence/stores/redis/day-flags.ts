/**
 * The place of a viewer's day flag: has the viewer played, or been served, anything of a business today?
 *
 * Viewers with integer ids have a bit each. The ids of a region are every R-th number, so id div R is unique in it. 1,024 consecutive ones
 * share a page of 128 bytes, a key of its own. Dense ids therefore take 0.4 bytes each, with their page's overhead. Sparse ids take a page
 * each, about 150 bytes; as bit `id div 1000` of one of 1,000 keys, a single id of ten digits would take 1.3 MB. Other viewers are members
 * of sets, spread by hash over 1,000 sets for all regions: a shared bit would cost one of two viewers the reward.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { isIntegerId } from '../../../../core/keys.ts'
import { fnv1a } from '../../../../core/regions.ts'
import { fmix32 } from '../../filter/hash.ts'

/** `bit` or `member`, in the form of `first-of-day.lua`. */
export type FlagPlace = { page: string; place: string }

const HOUR_MS = 3_600_000
/** A page expires this long after its last claim: `first-of-day.lua`. */
const KEPT_MS = 72 * HOUR_MS
/** Viewers of a page claim a day until its next day ends. If the clocks go back, that is 49 hours after the day began. */
const CLAIMED_MS = 49 * HOUR_MS
/** A flag may exist for this time after its claim. Later claims of other viewers on the same page extend it. */
export const DAY_FLAG_MAX_MS = CLAIMED_MS + KEPT_MS

const PAGE_BITS = 1_024
const SETS = 1_000

export function flagPlaceOf(viewer: ViewerId, regions: number): FlagPlace {
  if (!isIntegerId(viewer)) return { page: `n${(fmix32(fnv1a(viewer)) >>> 0) % Math.ceil(SETS / regions)}`, place: `=${viewer}` }
  const index = BigInt(viewer) / BigInt(regions)
  return { page: String(index / BigInt(PAGE_BITS)), place: String(index % BigInt(PAGE_BITS)) }
}
