import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import { seededRandom } from '../../../../core/random.ts'
import { hashSeen } from '../../../../subgraphs/feed-existence/filter/hash.ts'

function words(business: number, oid: string): string {
  return Array.from(hashSeen(business, [oid]), (word) => word.toString(16).padStart(8, '0')).join(' ')
}

/**
 * A second implementation of the docstring of `subgraphs/feed-existence/filter/hash.ts`, from packed bytes, with whole numbers of any size.
 */
function asDocumented(business: number, oid: string): string {
  const bytes = Buffer.alloc(PACKED_ID_BYTES_MAX + 3)
  const end = packId(oid, bytes, 0)
  const mix = (value: bigint, [a, m1, b, m2, c]: readonly [bigint, bigint, bigint, bigint, bigint]) => {
    const once = BigInt.asUintN(32, (value ^ (value >> a)) * m1)
    const twice = BigInt.asUintN(32, (once ^ (once >> b)) * m2)
    return twice ^ (twice >> c)
  }
  const lanes = [
    [0x7469646dn, [16n, 0x85ebca6bn, 13n, 0xc2b2ae35n, 16n]],
    [0x61726b31n, [16n, 0x7feb352dn, 15n, 0x846ca68bn, 16n]],
  ] as const
  return lanes
    .map(([salt, finalizer]) => {
      const seed = salt ^ BigInt.asUintN(32, BigInt(business) * 0x9e3779b1n)
      if ((bytes[0] as number) < 0x80) {
        return mix(BigInt(bytes.readUInt32BE(4)) ^ mix(BigInt(bytes.readUInt32BE(0)) ^ seed, finalizer), finalizer)
      }
      let hash = seed ^ 0x80000000n
      for (let i = 0; i < end; i += 4) {
        hash = BigInt.asUintN(32, mix(hash ^ BigInt(bytes.readUInt32LE(i)), finalizer) + 0x9e3779b9n)
      }
      return hash
    })
    .map((hash) => hash.toString(16).padStart(8, '0'))
    .join(' ')
}

describe('the hash of a subject', () => {
  it.each([
    [1, '0', 'cfc476bb 548d2fda'],
    [1, '1', 'a91f639e e00d176b'],
    [2, '1', 'ada2b81c 51e4cec6'],
    [65_535, '42', 'a0d2adb5 7c73fc8a'],
    [1, '4294967296', '33edc890 18e8fdaa'],
    [1, '999999999999999', '7e6dd731 2d474466'],
    [1, '9007199254740993', '9c1ea413 7f68e7be'],
    [1, '9223372036854775807', 'af43fc36 bc8d1d92'],
    [1, '9223372036854775808', 'b0f170c1 d597efa3'],
    [1, '007', 'cc48be63 5cbb7362'],
    [1, 'a', 'ab6a6ae4 fa970896'],
    [1, 'BV1xx411c7mD', 'eda2a9f6 2cd3a499'],
    [3, 'épisode-12', 'baa753de 9cd82d84'],
  ])('of business %i and id %s never changes', (business, oid, expected) => {
    expect(words(business, oid)).toBe(expected)
  })

  it('equals its documentation for every id', () => {
    const anyId = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 63n + 9n }).map(String),
      fc.nat().map(String),
      fc.string({ minLength: 1, maxLength: 16, unit: 'grapheme' }).filter((id) => Buffer.byteLength(id) <= 64),
      fc.string({ minLength: 1, maxLength: 64, unit: fc.constantFrom('0', '1', '2', '9', 'a') }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 65_535 }), anyId, (business, oid) => {
        expect(words(business, oid)).toBe(asDocumented(business, oid))
      }),
      { numRuns: 5_000 },
    )
  })

  it('is the same for an id in any batch', () => {
    const ids = ['7', '4294967303', 'x', '7', '18446744073709551615', '4294967304', '8']
    expect(Array.from(hashSeen(5, ids))).toEqual(ids.flatMap((id) => Array.from(hashSeen(5, [id]))))
  })

  it('changes each bit with a probability of one half for any changed bit of an integer, text or business', () => {
    const random = seededRandom(11)
    const below = (limit: number) => Math.floor(random() * limit)
    const rounds = 2_000
    const kinds: [string, number, (bit: number) => [[number, string], [number, string]]][] = [
      [
        'integer',
        62,
        (bit) => {
          const id = BigInt(below(2 ** 31)) * 2n ** 31n + BigInt(below(2 ** 31))
          return [
            [1, String(id)],
            [1, String(id ^ (1n << BigInt(bit)))],
          ]
        },
      ],
      [
        'small integer',
        24,
        (bit) => {
          const id = below(2 ** 24)
          return [
            [1, String(id)],
            [1, String(id ^ (1 << bit))],
          ]
        },
      ],
      [
        'text',
        6 * 11,
        (bit) => {
          const bytes = Buffer.from(Array.from({ length: 11 }, () => 64 + below(64)))
          const changed = Buffer.from(bytes)
          changed[Math.floor(bit / 6)] = (bytes[Math.floor(bit / 6)] as number) ^ (1 << (bit % 6))
          return [
            [1, bytes.toString()],
            [1, changed.toString()],
          ]
        },
      ],
      [
        'business',
        15,
        (bit) => {
          const id = String(below(1e9))
          const business = below(2 ** 15) + 2 ** 15
          return [
            [business, id],
            [business ^ (1 << bit), id],
          ]
        },
      ],
    ]
    for (const [what, bits, pair] of kinds) {
      for (let bit = 0; bit < bits; bit++) {
        const flips = new Uint32Array(64)
        for (let round = 0; round < rounds; round++) {
          const [a, b] = pair(bit).map(([business, oid]) => hashSeen(business, [oid])) as [Uint32Array, Uint32Array]
          for (let i = 0; i < 64; i++) {
            const word = i >>> 5
            flips[i] = (flips[i] as number) + ((((a[word] as number) ^ (b[word] as number)) >>> (i & 31)) & 1)
          }
        }
        // Six standard deviations are 0.067 for 2,000 throws.
        for (const share of flips) expect(Math.abs(share / rounds - 0.5), `${what}, bit ${bit}`).toBeLessThan(0.075)
      }
    }
  })

  it('has no collision in its first half for a million integers, and no more than chance in 40 bits for texts', () => {
    const count = 1_000_000
    const firsts = (oids: string[]) => hashSeen(1, oids).filter((_, i) => i % 2 === 0)
    expect(new Set(firsts(Array.from({ length: count }, (_, i) => String(i)))).size).toBe(count)
    const texts = hashSeen(
      1,
      Array.from({ length: count }, (_, i) => `v${i}`),
    )
    const values = new Float64Array(count).map((_, i) => (texts[i * 2] as number) * 256 + ((texts[i * 2 + 1] as number) >>> 24))
    // Chance gives 0.45 of a pair.
    expect(count - new Set(values).size).toBeLessThan(6)
  })

  it('spreads consecutive ids and multiples evenly over the first 10 bits and the last', () => {
    for (const step of [1, 2, 1_000, 1_024, 65_536]) {
      const hashes = hashSeen(
        1,
        Array.from({ length: 102_400 }, (_, i) => String(i * step)),
      )
      for (const lane of [0, 1]) {
        for (const shift of [0, 22]) {
          const counts = new Uint32Array(1_024)
          for (let i = lane; i < hashes.length; i += 2) {
            const place = ((hashes[i] as number) >>> shift) & 1_023
            counts[place] = (counts[place] as number) + 1
          }
          const chiSquare = counts.reduce((sum, count) => sum + (count - 100) ** 2 / 100, 0)
          // 1,023 degrees of freedom: 1,023 is expected, and the standard deviation is 45.
          expect(chiSquare).toBeLessThan(1_023 + 6 * 45)
        }
      }
    }
  })
})
