import { describe, expect, test } from 'vitest'
import { makeConfig } from '../../../config/config.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { dueSlots, regionOfShard, shardOf, slotOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { regionOf } from '../../../core/regions.ts'

const REGIONS = 100
const HOUR = 3_600_000
const { shards: SHARDS, slots: SLOTS } = ringOf(makeConfig([]))
const VIEWERS = 1_000_000
const MEAN = VIEWERS / SHARDS

const random = seededRandom(11)
/** 32 random bits as 8 digits. */
const hex = (): string =>
  randomBelow(random, 2 ** 32)
    .toString(16)
    .padStart(8, '0')

function uuid(): string {
  const digits = `${hex()}${hex()}${hex()}`
  return `${hex()}-${digits.slice(0, 4)}-4${digits.slice(4, 7)}-a${digits.slice(7, 10)}-${digits.slice(10, 22)}`.padEnd(36, '0')
}

const KINDS: [string, (index: number) => string][] = [
  ['integers in a row', (index) => String(1_000_000_000 + index)],
  ['random integers', () => String(randomBelow(random, 2 ** 32))],
  ['integers of 18 digits', () => `412345678${String(randomBelow(random, 1e9)).padStart(9, '0')}`],
  ['UUIDs', () => uuid()],
  ['names with a number', (index) => `user-${index}`],
]

describe('the shards of an hour', () => {
  test.each(KINDS)(
    'have equally many viewers, with ids that are %s',
    (_, idOf) => {
      const counts = new Uint32Array(SHARDS)
      for (let index = 0; index < VIEWERS; index++) counts[shardOf(idOf(index), REGIONS, SHARDS)]! += 1
      // A fair draw: chi-square with this number of shards has this mean, and the root of twice the mean as standard deviation.
      const chiSquare = counts.reduce((sum, count) => sum + (count - MEAN) ** 2 / MEAN, 0)
      expect(chiSquare).toBeLessThan(SHARDS + 6 * Math.sqrt(2 * SHARDS))
      // The largest expected deviation of 5,000 shards.
      expect(Math.max(...counts)).toBeLessThan(MEAN + 5.5 * Math.sqrt(MEAN))
      expect(Math.min(...counts)).toBeGreaterThan(MEAN - 5.5 * Math.sqrt(MEAN))
    },
    60_000,
  )

  test('belong to the region of their viewers', () => {
    for (const [, idOf] of KINDS) {
      for (let index = 0; index < 1_000; index++) {
        const viewer = idOf(index)
        expect(regionOfShard(shardOf(viewer, REGIONS, SHARDS), REGIONS)).toBe(regionOf(viewer, REGIONS))
      }
    }
  })

  test('are split evenly among workers with equally many regions', () => {
    for (const workers of [2, 3, 8]) {
      const counts = Array.from({ length: workers }, () => 0)
      for (let index = 0; index < 200_000; index++) {
        const shard = shardOf(uuid(), REGIONS, SHARDS)
        counts[Math.floor((regionOfShard(shard, REGIONS) * workers) / REGIONS)]! += 1
      }
      // 100 regions among 3 or 8 workers are 34 and 13 for some.
      expect((Math.max(...counts) * REGIONS) / (200_000 * Math.ceil(REGIONS / workers))).toBeLessThan(1.02)
    }
  })
})

describe('the slot of an hour', () => {
  test('is processed in the two hours after it, and never during it', () => {
    for (let hour = 490_000; hour < 490_000 + 3 * SLOTS; hour++) {
      const slot = slotOf(hour * HOUR, SLOTS)
      expect(slotOf((hour + 1) * HOUR - 1, SLOTS)).toBe(slot)
      const due = Array.from({ length: SLOTS }, (_, later) => dueSlots((hour + later) * HOUR, SLOTS).includes(slot))
      expect(due).toEqual(Array.from({ length: SLOTS }, (__, later) => later === 1 || later === 2))
    }
  })
})
