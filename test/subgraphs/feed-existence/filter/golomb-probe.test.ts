import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openSet, probedBits } from '../../../../subgraphs/feed-existence/filter/golomb-probe.ts'
import { seededRandom } from '../../../../core/random.ts'

/** Here a hash is its first word, so a value of 40 bits is that word and eight zeros. */
function open(words: Iterable<number>) {
  return openSet(Float64Array.from(new Set(words), (word) => word * 256).sort(), 40)
}

const hashesOf = (words: readonly number[]): Uint32Array => Uint32Array.from(words.flatMap((word) => [word, 0]))

/** Words of one bucket. Every second word will be in the set. */
const crowd = (count: number): number[] => Array.from({ length: 2 * count }, (_, at) => (0xabc00000 | at) >>> 0)

function strangers(count: number): number[] {
  const random = seededRandom(7)
  return Array.from({ length: count }, () => Math.floor(random() * 2 ** 32))
}

describe('a set with a crowded bucket, made by a viewer with chosen ids', () => {
  it('has exactly its members, for any size of the bucket', () => {
    for (const count of [1, 15, 16, 17, 18, 33, 1_000, 20_000]) {
      const words = crowd(count)
      const set = open([...strangers(50), ...words.filter((_, at) => at % 2 === 0)])
      const found = words.map((word) => set.has(word, 0))
      expect(found.filter((isFound, at) => isFound !== (at % 2 === 0))).toEqual([])
      for (const word of strangers(50)) expect(set.has(word, 0)).toBe(true)
    }
  })

  it('answers much faster than a walk through the bucket', () => {
    const words = crowd(60_000)
    const inside = words.filter((_, at) => at % 2 === 0)
    const set = open([...strangers(80_000), ...inside])
    const asked = words.slice(-20_000)
    const hashes = hashesOf(asked)
    const found = new Uint32Array(hashes.length / 64)
    const bucket = Uint32Array.from(inside)
    const leastMs = (run: () => void): number => {
      const times = [1, 2, 3].map(() => {
        const begun = performance.now()
        run()
        return performance.now() - begun
      })
      return Math.min(...times)
    }
    const walkMs = leastMs(() => asked.slice(0, 1_000).forEach((word) => bucket.includes(word)))
    // Twenty times as many, each hundreds of times faster.
    expect(leastMs(() => set.hasMany(hashes, found))).toBeLessThan(walkMs * 5)
    expect(found[0]).toBe(0x55555555)
  })
})

/** The leading bits of a pair, and of a value of `width` bits. */
const bitsOfPair = (hash1: number, hash2: number, bits: number): bigint => ((BigInt(hash1) << 32n) | BigInt(hash2)) >> BigInt(64 - bits)
const bitsOfValue = (value: number, width: number, bits: number): bigint => BigInt(value) >> BigInt(width - bits)

/** Realistic and extreme sets: any width, few or many values, spread out or crowded. */
const anySet = fc
  .record({
    width: fc.integer({ min: 1, max: 40 }),
    count: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5_000 })),
    /** The share of the values that is crowded, and the number of bits they are crowded into. */
    crowded: fc.constantFrom(0, 0, 0.5, 0.98, 1),
    crowdBits: fc.integer({ min: 1, max: 30 }),
    seed: fc.integer(),
  })
  .map(({ width, count, crowded, crowdBits, seed }) => {
    const random = seededRandom(seed)
    const below = (bits: number): number => Math.floor(random() * 2 ** bits)
    const crowd = below(width)
    const valueOf = (): number => (random() < crowded ? (crowd + below(Math.min(crowdBits, width))) % 2 ** width : below(width))
    const values = Float64Array.from(new Set(Array.from({ length: count }, valueOf))).sort()
    // Half of the asked pairs are members or their neighbours, with random bits behind them.
    const pairOf = (): [number, number] => {
      if (random() < 0.5) return [below(32), below(32)]
      const near = (values[Math.floor(random() * values.length)] as number) + Math.floor(random() * 3) - 1
      const value = BigInt(Math.min(2 ** width - 1, Math.max(0, near)))
      const behind = (BigInt(below(32)) << 32n) | BigInt(below(32))
      const pair = (value << BigInt(64 - width)) | (behind >> BigInt(width))
      return [Number(pair >> 32n), Number(pair & 0xffffffffn)]
    }
    const asked = Uint32Array.from(Array.from({ length: 1 + Math.floor(random() * 2_500) }, pairOf).flat())
    return { width, values, asked }
  })

describe('an opened set', () => {
  it('answers any number of candidates as the plain set of its values does, and leaves other bits unchanged', () => {
    fc.assert(
      fc.property(anySet, ({ width, values, asked }) => {
        const bits = probedBits(values.length, width)
        const plain = new Set(Array.from(values, (value) => bitsOfValue(value, width, bits)))
        const set = openSet(values, width)
        const found = new Uint32Array(Math.ceil(asked.length / 64)).fill(0x00040201)
        const expected = found.slice()
        const singles: boolean[] = []
        for (let i = 0; i < asked.length; i += 2) {
          const [hash1, hash2] = [asked[i] as number, asked[i + 1] as number]
          const isIn = plain.has(bitsOfPair(hash1, hash2, bits))
          if (isIn) expected[i >>> 6] = (expected[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
          if (set.has(hash1, hash2) !== isIn) singles.push(isIn)
        }
        set.hasMany(asked, found)
        expect(singles).toEqual([])
        expect(found).toEqual(expected)
      }),
      { numRuns: 400 },
    )
  })
})
