import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../../core/errors.ts'
import { seededRandom } from '../../../../core/random.ts'
import type { FilterOptions } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import {
  addToFilter,
  emptyFilter,
  measureFilter,
  mergeFilters,
  openFilter,
  rateOfEach,
} from '../../../../subgraphs/feed-existence/filter/filter.ts'

const RATE = rateOfEach(0.01, 4)

function randomHashes(seed: number, count: number): Uint32Array {
  const random = seededRandom(seed)
  return Uint32Array.from({ length: count * 2 }, () => Math.floor(random() * 2 ** 32))
}

/** The possible changes to a month of a viewer: keys arrive, some of them again, with estimates of the final number of records. */
const anyWord = fc.oneof(fc.integer({ min: 0, max: 0xffffffff }), fc.integer({ min: 0, max: 40 }), fc.constantFrom(0xffffffff, 0x80000000))
const anyHashes = fc.array(fc.tuple(anyWord, anyWord), { maxLength: 60 }).map((pairs) => Uint32Array.from(pairs.flat()))
const anyFold = fc.record({
  hashes: anyHashes,
  recordsMax: fc.option(fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 2 ** 33 })), { nil: undefined }),
  rate: fc.constantFrom(RATE, RATE, RATE, 0.01, 0.0005, 0.5),
})

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (isTidemarkError(error)) return error.code
    throw error
  }
}

const readers = (blob: Buffer) => [
  () => openFilter(blob),
  () => measureFilter(blob),
  () => addToFilter(blob, new Uint32Array(2), { rate: RATE }),
]

function isIn(found: Uint32Array, i: number): boolean {
  return (((found[i >>> 5] as number) >>> (i & 31)) & 1) === 1
}

function falseShare(blobs: readonly Buffer[], seed: number, count: number): number {
  const asked = randomHashes(seed, count)
  const found = new Uint32Array(Math.ceil(count / 32))
  for (const blob of blobs) openFilter(blob).hasMany(asked, found)
  let hits = 0
  for (let i = 0; i < count; i++) if (isIn(found, i)) hits++
  return hits / count
}

function grown(seed: number, records: number, fold: number, optionsAt: (records: number) => FilterOptions): Buffer {
  const hashes = randomHashes(seed, records)
  let blob: Buffer | undefined
  for (let at = 0; at < records; at += fold) blob = addToFilter(blob, hashes.subarray(at * 2, (at + fold) * 2), optionsAt(at))
  return blob as Buffer
}

describe('the merge of two filters', () => {
  const folded = (folds: readonly { hashes: Uint32Array; recordsMax: number | undefined; rate: number }[]): Buffer =>
    folds.reduce((blob, { hashes, recordsMax, rate }) => addToFilter(blob, hashes, { rate, recordsMax }), emptyFilter({ rate: RATE }))

  it('has every key of both, takes further keys, and equals the first filter if that has all keys', () => {
    fc.assert(
      fc.property(fc.array(anyFold, { maxLength: 3 }), fc.array(anyFold, { maxLength: 3 }), anyHashes, (left, right, later) => {
        const [a, b] = [folded(left), folded(right)]
        const merged = mergeFilters(a, b)
        const more = addToFilter(merged, later, { rate: RATE })
        const keys = [...left, ...right].flatMap(({ hashes }) => [...hashes])
        for (const [blob, all] of [
          [merged, keys],
          [more, [...keys, ...later]],
        ] as const) {
          const probe = openFilter(blob)
          for (let i = 0; i < all.length; i += 2) expect(probe.has(all[i] as number, all[i + 1] as number)).toBe(true)
        }
        expect(mergeFilters(merged, b)).toBe(merged)
        expect(mergeFilters(a, a)).toBe(a)
      }),
      { numRuns: 200 },
    )
  })

  it('keeps the rate for two filters of one month', () => {
    const blob = mergeFilters(
      addToFilter(undefined, randomHashes(1, 3_000), { rate: RATE }),
      addToFilter(undefined, randomHashes(2, 3_000), { rate: RATE }),
    )
    expect(measureFilter(blob).records).toBeGreaterThan(5_990)
    expect(measureFilter(blob).expectedRate).toBeLessThan(RATE)
  })
})

describe('a filter of seen subjects', () => {
  it('finds every added key, after any folds, narrowings and changes of the rate', () => {
    fc.assert(
      fc.property(fc.array(anyFold, { minLength: 1, maxLength: 8 }), (folds) => {
        let blob: Buffer | undefined
        for (const { hashes, ...options } of folds) blob = addToFilter(blob, hashes, options)
        const probe = openFilter(blob as Buffer)
        for (const { hashes } of folds) {
          const found = new Uint32Array(Math.ceil(hashes.length / 64))
          probe.hasMany(hashes, found)
          for (let i = 0; i < hashes.length / 2; i++) {
            expect(isIn(found, i)).toBe(true)
            expect(probe.has(hashes[i * 2] as number, hashes[i * 2 + 1] as number)).toBe(true)
          }
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('is unchanged by known keys, in any order and number', () => {
    fc.assert(
      fc.property(fc.array(anyFold, { minLength: 1, maxLength: 6 }), fc.boolean(), (folds, isTwice) => {
        const rate = RATE
        let blob: Buffer = emptyFilter({ rate })
        for (const { hashes, recordsMax } of folds) blob = addToFilter(blob, hashes, { rate, recordsMax })
        const all = folds.toReversed().flatMap(({ hashes }) => [...hashes])
        expect(addToFilter(blob, Uint32Array.from(isTwice ? [...all, ...all] : all), { rate })).toBe(blob)
      }),
      { numRuns: 1_000 },
    )
  })

  it('never counts fewer records than before, nor more than were added', () => {
    fc.assert(
      fc.property(fc.array(anyFold, { minLength: 1, maxLength: 8 }), (folds) => {
        let blob = emptyFilter({ rate: RATE })
        let [before, added] = [0, 0]
        for (const { hashes, ...options } of folds) {
          blob = addToFilter(blob, hashes, options)
          added += hashes.length / 2
          const { records } = measureFilter(blob)
          expect(records).toBeGreaterThanOrEqual(before)
          expect(records).toBeLessThanOrEqual(added)
          before = records
        }
      }),
    )
  })

  it('answers single and batched lookups alike, and leaves other bits of the bitmap unchanged', () => {
    const blob = grown(1, 500, 100, () => ({ rate: 0.1, recordsMax: 0 }))
    const probe = openFilter(blob)
    const asked = randomHashes(2, 3_000)
    const found = new Uint32Array(94).fill(0x01010101)
    probe.hasMany(asked, found)
    for (let i = 0; i < 3_000; i++) {
      expect(isIn(found, i)).toBe(i % 8 === 0 || probe.has(asked[i * 2] as number, asked[i * 2 + 1] as number))
    }
  })

  it('is refused with any byte changed, missing or added', () => {
    const blobs = [
      emptyFilter({ rate: RATE }),
      grown(3, 40, 7, () => ({ rate: RATE, recordsMax: 0 })),
      grown(4, 90, 9, (records) => ({ rate: RATE, ...(records === 45 ? { recordsMax: 0 } : {}) })),
    ]
    for (const blob of blobs) {
      for (let i = 0; i < blob.length; i++) {
        for (const change of [1, 0x80, 0xff]) {
          const changed = Buffer.from(blob)
          changed[i] = (changed[i] as number) ^ change
          for (const reader of readers(changed)) expect(codeOf(reader)).toBe('DATA_DAMAGED')
        }
        for (const reader of readers(blob.subarray(0, i))) expect(codeOf(reader)).toBe('DATA_DAMAGED')
      }
      for (const reader of readers(Buffer.concat([blob, Buffer.of(0)]))) expect(codeOf(reader)).toBe('DATA_DAMAGED')
    }
  })

  it('with a newer format, another hash or another kind has a different error than a damaged filter', () => {
    const changes: [number, number][] = [
      [0, 0xf2],
      [5, 0x21],
      [5, 0x12],
    ]
    for (const [at, byte] of changes) {
      const blob = grown(5, 20, 20, () => ({ rate: RATE }))
      blob[at] = byte
      for (const reader of readers(blob)) expect(codeOf(reader)).toBe('DATA_DAMAGED')
      for (const reader of readers(summed(blob))) expect(codeOf(reader)).toBe('DATA_INCOMPATIBLE')
    }
  })

  it('with a valid checksum and invalid sets is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat({ max: 3 }), fc.nat({ max: 39 }), (noise, claims, k) => {
        const claim = [[], [0xcd, 0x13, 3], [0xcd, 0x13, 3, 29, k], [0xcd, 0x13, 3, 40, k, 3, noise.length]][claims] as number[]
        const blob = summed(Buffer.concat([Buffer.of(0xf1, 0, 0, 0, 0, 0x11, ...claim), noise]))
        for (const reader of readers(blob)) expect([undefined, 'DATA_DAMAGED']).toContain(codeOf(reader))
      }),
      { numRuns: 5_000 },
    )
  })

  it('that claims a billion records in a few bytes allocates no memory for them', () => {
    const blob = summed(Buffer.from([0xf1, 0, 0, 0, 0, 0x11, 0xcd, 0x13, 1, 40, 0, 0x80, 0x94, 0xeb, 0xdc, 0x03, 2, 0xff, 0xff]))
    for (const reader of readers(blob)) expect(codeOf(reader)).toBe('DATA_DAMAGED')
  })

  it('has the layout of its docstring', () => {
    // Values of 3 bits: 1, 2 and 6. Distances, less one: 1, 0 and 3. With k = 1 they are 11, 10 and 011.
    const hashes = Uint32Array.of(0x20000000, 7, 0xc0000000, 7, 0x5fffffff, 7)
    const blob = addToFilter(undefined, hashes, { rate: 0.5, recordsMax: 3 })
    expect([...blob.subarray(5)]).toEqual([0x11, 0xa0, 0xc2, 0x1e, 3, 3, 1, 3, 1, 0b11100110])
    expect(blob[0]).toBe(0xf1)
    expect(blob.readUInt32BE(1)).toBe(crc32(Buffer.concat([blob.subarray(0, 1), blob.subarray(5)])))
  })

  it('takes a few bytes for a light viewer, and at most 30 for ten records when closed', () => {
    expect(emptyFilter({ rate: RATE }).length).toBe(9)
    expect(grown(6, 1, 1, () => ({ rate: RATE })).length).toBeLessThanOrEqual(18)
    expect(grown(6, 10, 10, () => ({ rate: RATE })).length).toBeLessThanOrEqual(52)
    expect(grown(6, 10, 10, () => ({ rate: RATE, recordsMax: 0 })).length).toBeLessThanOrEqual(30)
  })

  it('is near the minimum size when closed, and takes 5 bits more while a thousand may become 50,000', () => {
    for (const records of [1_000, 3_000, 10_000]) {
      const open = grown(7, records, 50, () => ({ rate: RATE }))
      const closed = addToFilter(open, new Uint32Array(0), { rate: RATE, recordsMax: 0 })
      const floor = Math.log2(1 / RATE) + 1.5
      expect((closed.length * 8) / records).toBeLessThan(floor + 1.2)
      expect((open.length * 8) / records).toBeLessThan(25 - Math.log2(records) + 1.7)
    }
  })

  it('that is narrowed equals a filter that never kept more bits', () => {
    const hashes = randomHashes(8, 900)
    let open = addToFilter(undefined, hashes.subarray(0, 600), { rate: RATE })
    open = addToFilter(open, hashes.subarray(600), { rate: RATE })
    open = addToFilter(open, new Uint32Array(0), { rate: RATE, recordsMax: 5_000 })
    const closed = addToFilter(open, new Uint32Array(0), { rate: RATE, recordsMax: 900 })
    expect(closed).toEqual(addToFilter(undefined, randomHashes(8, 900), { rate: RATE, recordsMax: 900 }))
  })

  it('that is closed with late records equals a filter that got all records at once', () => {
    const hashes = randomHashes(22, 1_500)
    for (const before of [10, 700, 1_499]) {
      const open = addToFilter(undefined, hashes.subarray(0, before * 2), { rate: RATE })
      const closed = addToFilter(open, hashes.subarray(before * 2), { rate: RATE, recordsMax: 0 })
      expect(closed).toEqual(addToFilter(undefined, hashes, { rate: RATE, recordsMax: 0 }))
    }
  })

  it.each([
    ['grows without a guess', () => ({})],
    ['is closed at each fold, wrongly', () => ({ recordsMax: 0 })],
    ['is closed in its middle', (records: number) => (records >= 2_000 && records < 2_100 ? { recordsMax: 0 } : {})],
    ['is estimated at twice its size', (records: number) => ({ recordsMax: records * 2 })],
  ])('that %s stays within its rate, both measured and expected', (_, optionsAt: (records: number) => { recordsMax?: number }) => {
    for (const records of [30, 4_000]) {
      const blob = grown(9, records, Math.ceil(records / 40), (at) => ({ rate: RATE, ...optionsAt(at) }))
      const { expectedRate } = measureFilter(blob)
      expect(expectedRate).toBeLessThanOrEqual(RATE)
      const probes = 1_000_000
      const deviation = Math.sqrt(expectedRate / probes)
      expect(Math.abs(falseShare([blob], 10, probes) - expectedRate)).toBeLessThan(6 * deviation + 2 / probes)
    }
  })

  it('stays below 1% together with three others', () => {
    const blobs = [1, 2, 3, 4].map((seed) => grown(seed, 2_060, 2_060, () => ({ rate: RATE, recordsMax: 0 })))
    const share = falseShare(blobs, 12, 2_000_000)
    expect(share).toBeGreaterThan(0.005)
    expect(share).toBeLessThan(0.01)
    expect(4 * rateOfEach(0.01, 4)).toBeGreaterThan(0.01)
    expect(1 - (1 - rateOfEach(0.01, 4)) ** 4).toBeCloseTo(0.01, 10)
  })

  it('that is closed is unchanged by closing again, even if two of its records share their remaining bits', () => {
    for (let seed = 0; seed < 3_000; seed++) {
      const closed = addToFilter(addToFilter(undefined, randomHashes(seed, 10), { rate: RATE }), new Uint32Array(0), {
        rate: RATE,
        recordsMax: 0,
      })
      expect(addToFilter(closed, new Uint32Array(0), { rate: RATE, recordsMax: 0 })).toBe(closed)
    }
  })

  it('that was closed takes late records without more bits for the others', () => {
    const closed = grown(13, 1_000, 1_000, () => ({ rate: RATE, recordsMax: 0 }))
    const { room } = measureFilter(closed)
    const late = addToFilter(closed, randomHashes(14, room + 20), { rate: RATE })
    expect(late.length).toBeLessThan(closed.length + (room + 20) * 5 + 20)
    expect(measureFilter(late).expectedRate).toBeLessThanOrEqual(RATE)
  })

  it('counts the new keys by 40 bits of both hashes', () => {
    const hashes = randomHashes(15, 3_000)
    let blob = addToFilter(undefined, hashes.subarray(0, 4_000), { rate: 0.0005 })
    blob = addToFilter(blob, hashes.subarray(2_000), { rate: 0.0005 })
    blob = addToFilter(blob, Uint32Array.from([...hashes.subarray(0, 2_000), ...hashes.subarray(0, 2_000)]), { rate: 0.0005 })
    const { records, expectedRate } = measureFilter(blob)
    expect(records).toBeGreaterThan(3_000 * (1 - 3 * expectedRate) - 3)
    expect(records).toBeLessThanOrEqual(3_000)
    expect(measureFilter(addToFilter(undefined, Uint32Array.of(5, 0, 5, 0x01000000, 5, 0xff), { rate: RATE })).records).toBe(2)
  })

  it('compares the second hash of late records, which keep 40 bits', () => {
    const closed = addToFilter(undefined, randomHashes(16, 4), { rate: RATE, recordsMax: 0 })
    const { room } = measureFilter(closed)
    const late = randomHashes(17, room + 5_000)
    const probe = openFilter(addToFilter(closed, late, { rate: RATE }))
    const lowered = late.map((word, i) => (i % 2 === 0 ? word : word ^ 0xff000000))
    const found = new Uint32Array(Math.ceil(lowered.length / 64))
    probe.hasMany(lowered, found)
    let hits = 0
    for (let i = 0; i < lowered.length / 2; i++) if (isIn(found, i)) hits++
    expect(hits / (lowered.length / 2)).toBeLessThan(2 * RATE)
  })

  it('with a wrong number of values is refused, although its checksum is valid', () => {
    const blob = addToFilter(undefined, randomHashes(18, 100), { rate: RATE })
    for (const wrong of [99, 98, 90]) {
      const changed = Buffer.from(blob)
      expect(changed[11]).toBe(100)
      changed[11] = wrong
      for (const reader of [readers(summed(changed))[0], readers(changed)[2]]) expect(codeOf(reader as () => unknown)).toBe('DATA_DAMAGED')
    }
  })

  it('keeps its rate for any number of late records, open and stored', () => {
    for (const rate of [0.0005, RATE]) {
      let blob = addToFilter(undefined, randomHashes(19, 3_000), { rate, recordsMax: 0 })
      blob = addToFilter(blob, randomHashes(20, 150_000), { rate })
      expect(measureFilter(blob).expectedRate).toBeLessThanOrEqual(rate)
      expect(falseShare([blob], 21, 1_000_000)).toBeLessThan(rate + 5 * Math.sqrt(rate / 1_000_000))
    }
  })

  it('has a rate from 0.0005 to 0.5', () => {
    for (const rate of [0, 0.0004, 0.6, Number.NaN]) expect(() => emptyFilter({ rate })).toThrow("a filter's rate is 0.0005 to 0.5")
    for (const rate of [0.0005, 0.5]) expect(measureFilter(emptyFilter({ rate })).rate).toBe(rate)
  })
})

function summed(blob: Buffer): Buffer {
  blob.writeUInt32BE(crc32(blob.subarray(5), crc32(blob.subarray(0, 1))), 1)
  return blob
}
