import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeCounterSchema } from '../../../../subgraphs/feed/packed/counter-schema.ts'

const POST = { repost: 24, comment: 20, like: 24, read: 32 }
const anySchema = fc.array(fc.integer({ min: 1, max: 48 }), { minLength: 1, maxLength: 8 })
const anyCount = fc.oneof(
  fc.maxSafeNat(),
  fc.nat({ max: 9 }),
  fc.tuple(fc.nat({ max: 52 }), fc.constantFrom(-2, -1, 0)).map(([bits, less]) => Math.max(0, 2 ** bits + less)),
)

function recordOf(values: readonly number[]): Record<string, number> {
  return Object.fromEntries(values.map((value, at) => [`c${at}`, value]))
}

describe('a counter schema', () => {
  it('unpacks the packed counts, of all widths and sizes', () => {
    fc.assert(
      fc.property(anySchema, fc.array(anyCount, { minLength: 8, maxLength: 8 }), (widths, values) => {
        const schema = makeCounterSchema(recordOf(widths))
        const counts = recordOf(values.slice(0, widths.length))
        const packed = schema.pack(counts)
        expect(schema.unpack(packed)).toStrictEqual(counts)
        expect(packed.entry.length).toBe(Math.ceil(widths.reduce((sum, width) => sum + width) / 8))
        const isSaturated = widths.some((width, at) => (values[at] as number) >= 2 ** width - 1)
        expect(packed.overflow?.length).toBe(isSaturated ? widths.length * 8 : undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  it('adds as a map of numbers does, into the overflow and back', () => {
    const delta = fc.oneof(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: -(2 ** 33), max: 2 ** 33 }))
    const names = Object.keys(POST) as (keyof typeof POST)[]
    const change = fc.tuple(fc.constantFrom(...names), delta)
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const schema = makeCounterSchema(POST)
        const model = { repost: 0, comment: 0, like: 0, read: 0 }
        let packed = schema.pack(model)
        for (const [name, by] of changes) {
          const next = schema.add(packed, { [name]: by })
          if (model[name] + by < 0) expect(next).toBeUndefined()
          else model[name] += by
          packed = next ?? packed
          expect(schema.unpack(packed)).toStrictEqual(model)
        }
      }),
    )
  })

  it('has the most significant bits first, as BITFIELD of Redis', () => {
    const { entry, overflow } = makeCounterSchema(POST).pack({ repost: 0x123456, comment: 0x789ab, like: 0xcdef01, read: 0x23456789 })
    expect(entry.toString('hex')).toBe('123456789abcdef01234567890')
    expect(overflow).toBeUndefined()
  })

  it('moves a counter to the overflow entry at the highest value of its bits', () => {
    const schema = makeCounterSchema({ like: 8, read: 8 })
    expect(schema.pack({ like: 254, read: 0 })).toStrictEqual({ entry: Buffer.from('fe00', 'hex'), overflow: undefined })
    const overflow = Buffer.from('00000000000000ff0000000000000000', 'hex')
    expect(schema.pack({ like: 255, read: 0 })).toStrictEqual({ entry: Buffer.from('ff00', 'hex'), overflow })
  })

  it('takes 13 bytes for four counters of a post', () => {
    expect(makeCounterSchema(POST).entryBytes).toBe(13)
  })

  it('does not take a counter below 0 or above 2^53 - 1, and then changes no other counter', () => {
    const schema = makeCounterSchema(POST)
    const packed = schema.pack({ repost: 1, comment: 1, like: Number.MAX_SAFE_INTEGER, read: 0 })
    expect(schema.add(packed, { repost: 1, comment: -2 })).toBeUndefined()
    expect(schema.add(packed, { repost: 1, like: 1 })).toBeUndefined()
    expect(schema.unpack(packed)).toStrictEqual({ repost: 1, comment: 1, like: Number.MAX_SAFE_INTEGER, read: 0 })
  })

  it('refuses entries of another length, and a saturated counter without its overflow entry', () => {
    const schema = makeCounterSchema(POST)
    const { entry } = schema.pack({ repost: 2 ** 30, comment: 0, like: 0, read: 0 })
    expect(() => schema.unpack({ entry: entry.subarray(1), overflow: undefined })).toThrow(
      expect.objectContaining({ code: 'DATA_DAMAGED' }),
    )
    expect(() => schema.unpack({ entry, overflow: undefined })).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' }))
  })

  it('refuses a counter without bits, with more than 48, and no counter at all', () => {
    for (const bits of [{}, { like: 0 }, { like: 49 }, { like: 1.5 }]) {
      expect(() => makeCounterSchema(bits as Record<string, number>)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    }
  })
})
