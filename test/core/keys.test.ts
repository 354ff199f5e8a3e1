import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PACKED_ID_BYTES_MAX, checkId, compareIds, isIntegerId, packId, packedIdLength, unpackId } from '../../core/keys.ts'

function pack(id: string): Buffer {
  const target = Buffer.alloc(PACKED_ID_BYTES_MAX)
  return target.subarray(0, packId(id, target, 0))
}

const integerId = fc.oneof(fc.nat().map(String), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String))
const textId = fc.oneof(
  fc.string({ minLength: 1, maxLength: 64 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: 1, maxLength: 24 }),
)
const id = fc.oneof(integerId, textId).filter((text) => text.isWellFormed() && Buffer.byteLength(text) <= 64)

describe('the key codec', () => {
  it('unpacks packed ids at any offset, and knows their length', () => {
    fc.assert(
      fc.property(id, fc.nat({ max: 9 }), (text, offset) => {
        const target = Buffer.alloc(offset + PACKED_ID_BYTES_MAX)
        const end = packId(text, target, offset)
        expect(unpackId(target, offset)).toBe(text)
        expect(offset + packedIdLength(target, offset)).toBe(end)
        expect(end - offset).toBeLessThanOrEqual(PACKED_ID_BYTES_MAX)
      }),
      { numRuns: 2_000 },
    )
  })

  it('orders ids as their packed bytes', () => {
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(Math.sign(compareIds(a, b))).toBe(Math.sign(Buffer.compare(pack(a), pack(b))))
      }),
      { numRuns: 5_000 },
    )
  })

  it('packs no id as a prefix of another', () => {
    fc.assert(
      fc.property(id, id, (a, b) => {
        fc.pre(a !== b)
        const [first, second] = [pack(a), pack(b)]
        expect(second.subarray(0, first.length).equals(first)).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })

  it('packs canonical integers below 2^63 by value, and everything else as text', () => {
    for (const integer of ['0', '7', '4294967295', '4294967296', '9007199254740991', '9007199254740993', '9223372036854775807']) {
      expect(pack(integer)).toHaveLength(8)
      expect(pack(integer).readBigUInt64BE()).toBe(BigInt(integer))
    }
    for (const text of ['', '00', '007', '-1', '1e3', ' 1', '9223372036854775808', '18446744073709551616', '٣', '1.0']) {
      expect(isIntegerId(text)).toBe(false)
    }
    expect(pack('007')).toEqual(Buffer.from([0x83, 0x30, 0x30, 0x37]))
  })

  it('refuses ids that are empty, over 64 bytes, or half a character, with the reason', () => {
    checkId('x'.repeat(64), 'viewer')
    checkId('ü'.repeat(32), 'viewer')
    const refused = (text: string): unknown => {
      try {
        checkId(text, 'oid')
        return 'accepted'
      } catch (error) {
        return error
      }
    }
    expect(refused('')).toMatchObject({ code: 'ID_INVALID', message: expect.stringContaining('oid is empty') })
    expect(refused('x'.repeat(65))).toMatchObject({ code: 'ID_INVALID', message: expect.stringContaining('65 bytes') })
    expect(refused('ü'.repeat(33))).toMatchObject({ code: 'ID_INVALID', message: expect.stringContaining('66 bytes') })
    expect(refused('a\ud800')).toMatchObject({ code: 'ID_INVALID', message: expect.stringContaining('surrogate') })
  })
})
