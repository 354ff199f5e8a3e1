import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VARINT_BYTES_MAX, foldSign, readVarint, unfoldSign, writeVarint } from '../../core/varint.ts'

const edges = Array.from({ length: 54 }, (_, bit) => [2 ** bit - 1, Math.min(2 ** bit, Number.MAX_SAFE_INTEGER)]).flat()
const whole = fc.oneof(fc.constantFrom(...edges), fc.nat(), fc.maxSafeNat())

describe('varints', () => {
  it('are read back unchanged in sequence, in seven bits per byte', () => {
    fc.assert(
      fc.property(fc.array(whole), (values) => {
        const bytes = Buffer.alloc(values.length * VARINT_BYTES_MAX)
        let end = 0
        for (const value of values) {
          const start = end
          end = writeVarint(value, bytes, start)
          expect(end - start).toBe(Math.max(1, Math.ceil(BigInt(value).toString(2).length / 7)))
        }
        const reader = { bytes, at: 0 }
        expect(values.map(() => readVarint(reader))).toEqual(values)
        expect(reader.at).toBe(end)
      }),
      { numRuns: 1_000 },
    )
  })

  it('keep the sign of numbers below 2^52', () => {
    const value = fc.oneof(
      fc.integer(),
      fc.constantFrom(...edges.filter((edge) => edge < 2 ** 52)).chain((edge) => fc.constantFrom(edge, -edge || 0)),
      fc.integer({ min: -(2 ** 52) + 1, max: 2 ** 52 - 1 }),
    )
    fc.assert(
      fc.property(value, (number) => {
        expect(Number.isSafeInteger(foldSign(number)) && foldSign(number) >= 0).toBe(true)
        expect(unfoldSign(foldSign(number))).toBe(number)
      }),
      { numRuns: 2_000 },
    )
    expect([0, -1, 1, -2, 2].map(foldSign)).toEqual([0, 1, 2, 3, 4])
  })

  it('end in time on endless or missing bytes', () => {
    const reader = { bytes: Buffer.alloc(32, 0xff), at: 0 }
    readVarint(reader)
    expect(reader.at).toBe(VARINT_BYTES_MAX)
    expect(readVarint({ bytes: Buffer.alloc(0), at: 0 })).toBe(0)
  })
})
