/** Are viewers spread evenly over the shards of an hour, regions over workers, and expiring filters over days and hours? */
import { expiryOf } from '../../subgraphs/feed-existence/filter/expiry.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { HOUR_MS, beginningOf, monthOf, regionOfShard, shardOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { Measure } from '../support/report.ts'
import { REGIONS, SHAPE } from './servers.ts'

const SHARD_RATIO_MAX = 1.1
const WORKERS = 8
const DAY_MS = 24 * HOUR_MS
const IDLE = { fromHour: 0, hours: 5, utcOffsetMinutes: 0 }

export function measureSpread(quick: boolean): Measure[] {
  // With fewer viewers, chance alone makes the fullest shard differ more from the mean.
  const viewers = quick ? 2_500_000 : 10_000_000
  return [...ofShards(viewers, quick), ...ofExpiry(quick ? 1_000_000 : 10_000_000)]
}

function ofShards(viewers: number, quick: boolean): Measure[] {
  const random = seededRandom(7)
  const hex = (): string =>
    randomBelow(random, 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const kinds: [string, (index: number) => string][] = [
    ['integers in a row', (index) => String(1_000_000_000 + index)],
    ['random integers', () => String(randomBelow(random, 2 ** 32))],
    ['UUIDs', () => `${hex()}-${hex().slice(4)}-4${hex().slice(5)}-a${hex().slice(5)}-${hex()}${hex().slice(4)}`],
  ]
  return kinds.flatMap(([kind, idOf]) => {
    const shards = new Uint32Array(SHAPE.shards)
    const workers = Array.from({ length: WORKERS }, () => 0)
    for (let index = 0; index < viewers; index++) {
      const shard = shardOf(idOf(index), REGIONS, SHAPE.shards)
      shards[shard] = (shards[shard] as number) + 1
    }
    shards.forEach((count, shard) => (workers[Math.floor((regionOfShard(shard, REGIONS) * WORKERS) / REGIONS)]! += count))
    const of = `${viewers / 1e6} million viewers, ${kind}`
    return [
      {
        metric: `${of}: fullest of ${SHAPE.shards} shards : mean`,
        value: (Math.max(...shards) * SHAPE.shards) / viewers,
        unit: 'ratio',
        ...(quick ? {} : { target: SHARD_RATIO_MAX, atMost: true }),
      },
      { metric: `${of}: emptiest shard : mean`, value: (Math.min(...shards) * SHAPE.shards) / viewers, unit: 'ratio' },
      {
        metric: `${of}: busiest of ${WORKERS} workers (13 of 100 regions) : mean`,
        value: (Math.max(...workers) * WORKERS) / viewers,
        unit: 'ratio',
      },
    ]
  })
}

/** Filters of a March, which expire on the 30 days of September. */
function ofExpiry(filters: number): Measure[] {
  const random = seededRandom(9)
  const month = monthOf(Date.UTC(2026, 2, 1))
  const begins = beginningOf(month + 6)
  const days = Array.from({ length: 30 }, () => 0)
  const hours = Array.from({ length: 24 }, () => 0)
  for (let index = 0; index < filters; index++) {
    const since = expiryOf(month, IDLE, random) - begins
    days[Math.floor(since / DAY_MS)]! += 1
    hours[Math.floor((since % DAY_MS) / HOUR_MS)]! += 1
  }
  const outside = hours.slice(IDLE.hours).reduce((sum, count) => sum + count, 0)
  const idle = hours.slice(0, IDLE.hours)
  return [
    { metric: 'expiry: fullest of 30 days : mean', value: (Math.max(...days) * 30) / filters, unit: 'ratio', target: 1.02, atMost: true },
    { metric: 'expiry: emptiest of 30 days : mean', value: (Math.min(...days) * 30) / filters, unit: 'ratio', target: 0.98 },
    ...idle.map((count, hour) => ({ metric: `expiry: from ${hour}:00 to ${hour + 1}:00`, value: (100 * count) / filters, unit: '%' })),
    { metric: 'expiry: outside these hours', value: outside, unit: 'filters', target: 0, atMost: true },
  ]
}
