import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fnv1a, regionOf } from '../../core/regions.ts'

describe('regions', () => {
  test('an integer viewer is in the region of its remainder, up to 2^63 - 1', () => {
    expect(regionOf('12345', 100)).toBe(45)
    expect(regionOf('9223372036854775807', 100)).toBe(7)
    fc.assert(
      fc.property(
        fc.bigInt(0n, 2n ** 63n - 1n),
        fc.integer({ min: 1, max: 16_384 }),
        (id, regions) => regionOf(String(id), regions) === Number(id % BigInt(regions)),
      ),
    )
  })

  test('other viewers spread over the regions: 10,000 names fill 100 regions within 40% of the mean', () => {
    const filled = Array.from<number>({ length: 100 }).fill(0)
    for (let i = 0; i < 10_000; i++) {
      const region = regionOf(`viewer-${i}`, 100)
      filled[region] = (filled[region] as number) + 1
    }
    expect(Math.min(...filled)).toBeGreaterThan(60)
    expect(Math.max(...filled)).toBeLessThan(140)
  })

  test('the hash is FNV-1a: the published value of "a" with its high byte', () => {
    // 0xe40c292c is FNV-1a of the byte 0x61. One more round with the high byte 0 gives this value.
    expect(fnv1a('a')).toBe(Math.imul(0xe40c292c, 0x01000193) >>> 0)
  })
})
