/**
 * The Redis keys of counters. Each key has the hash tag of its region, the region of the subject's id.
 *
 * | key | type | holds |
 * |---|---|---|
 * | `tm:block:{TAG}:4:17` | string | block 17 of the region in business 4: entries of subjects, see `blocks.ts` |
 * | `tm:counters:size:{TAG}:4` | hash | `blocks`: their number; `subjects`: in all of them; `schema`: the form of the entries |
 * | `tm:counters:overflow:{TAG}:4` | hash | packed oid → overflow entry of a subject with a saturated counter |
 * | `tm:counters:events:{TAG}:480000` | set | 8-byte hashes of the events of a period; expires |
 * | `tm:counters:dirty:{TAG}` | sorted set | dirty subjects: score = first unpersisted change (ms), member packed oid + business |
 * | `tm:counters:versions:{TAG}` | hash | the same members → version of the last change |
 * | `tm:counters:version:{TAG}` | string | the last version given in this region |
 * | `tm:counters:never:{TAG}` | – | never exists: see `probe.lua` |
 * | `tm:counters:meta` | hash | the format and the region count these keys were written with |
 */
import type { BusinessNumber, ViewerId } from '../../../../../core/domain.ts'
import { regionOf } from '../../../../../core/regions.ts'
import { regionTags, slotOf } from '../../../../../stores/redis/region-tags.ts'

/** Stored in `tm:counters:meta`. Raise it when older code would misread the layout. */
export const COUNTER_FORMAT = '1'

export type CounterLayout = ReturnType<typeof makeCounterLayout>

export function makeCounterLayout(prefix: string, regions: number) {
  const tags = regionTags(regions)
  const ofRegion =
    (kind: string) =>
    (region: number): string =>
      `${prefix}:counters:${kind}:{${tags[region]}}`
  const ofBusiness =
    (kind: string) =>
    (region: number, business: BusinessNumber): string =>
      `${prefix}:counters:${kind}:{${tags[region]}}:${business}`

  return {
    regions,
    meta: `${prefix}:counters:meta`,
    regionOf: (oid: ViewerId): number => regionOf(oid, regions),
    slot: (region: number): number => slotOf(tags[region] as string),
    /** Undefined if the key has none of our tags. */
    regionOfKey(key: string): number | undefined {
      const region = tags.indexOf(/\{(.*?)\}/s.exec(key)?.[1] ?? '')
      return region === -1 ? undefined : region
    },
    block: (region: number, business: BusinessNumber, block: number): string => `${prefix}:block:{${tags[region]}}:${business}:${block}`,
    size: ofBusiness('size'),
    overflow: ofBusiness('overflow'),
    events: (region: number, period: number): string => `${prefix}:counters:events:{${tags[region]}}:${period}`,
    dirty: ofRegion('dirty'),
    versions: ofRegion('versions'),
    version: ofRegion('version'),
    never: ofRegion('never'),
  }
}
