import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparePlaces, decodeCursor, encodeCursor } from '../../../subgraphs/history/model/places.ts'

const place = fc.record({
  viewedAt: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  business: fc.integer({ min: 1, max: 65_535 }),
  oid: fc
    .oneof(fc.nat().map(String), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }))
    .filter((oid) => Buffer.byteLength(oid) <= 64),
})
const nearby = fc.record({
  viewedAt: fc.integer({ min: 1, max: 3 }),
  business: fc.integer({ min: 1, max: 3 }),
  oid: fc.constantFrom('1', '20', 'a', 'bb', '٣'),
})

describe('places', () => {
  it('a cursor decodes to the place it was made from', () => {
    fc.assert(
      fc.property(place, (made) => {
        expect(decodeCursor(encodeCursor(made), [made.business])).toEqual(made)
      }),
      { numRuns: 2_000 },
    )
  })

  it('the order is total: two different places never compare as equal', () => {
    fc.assert(
      fc.property(nearby, nearby, nearby, (a, b, c) => {
        expect(comparePlaces(a, b)).toBe(comparePlaces(b, a) === 0 ? 0 : -Math.sign(comparePlaces(b, a)) * Math.abs(comparePlaces(a, b)))
        if (comparePlaces(a, b) === 0) expect(a).toEqual(b)
        if (comparePlaces(a, b) < 0 && comparePlaces(b, c) < 0) expect(comparePlaces(a, c)).toBeLessThan(0)
      }),
      { numRuns: 2_000 },
    )
  })

  it('newer comes first, then the smaller business, then the smaller id', () => {
    const at = { viewedAt: 5, business: 2, oid: '7' }
    expect(comparePlaces({ ...at, viewedAt: 6 }, at)).toBeLessThan(0)
    expect(comparePlaces({ ...at, business: 1 }, at)).toBeLessThan(0)
    expect(comparePlaces({ ...at, oid: '6' }, at)).toBeLessThan(0)
    expect(comparePlaces({ ...at, oid: '10' }, at)).toBeGreaterThan(0)
    expect(comparePlaces({ ...at, oid: 'a' }, { ...at, oid: '10' })).toBeGreaterThan(0)
  })

  it('an invalid cursor is refused', () => {
    const refusal = expect.objectContaining({ code: 'CURSOR_INVALID' })
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String(),
          fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
        ),
        (text) => {
          let decoded
          try {
            decoded = decodeCursor(text, [1, 2, 3])
          } catch (error) {
            expect(error).toEqual(refusal)
            return
          }
          expect(encodeCursor(decoded)).toBe(text)
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('a changed or truncated cursor is refused or names a place of the same list', () => {
    fc.assert(
      fc.property(place, fc.nat(), fc.constantFrom(...'AZaz09-_+'.split('')), (made, position, character) => {
        const cursor = encodeCursor(made)
        const at = position % cursor.length
        for (const changed of [cursor.slice(0, at), cursor.slice(0, at) + character + cursor.slice(at + 1), `${cursor}A`]) {
          let decoded
          try {
            decoded = decodeCursor(changed, [made.business])
          } catch (error) {
            expect(error).toMatchObject({ code: 'CURSOR_INVALID' })
            continue
          }
          expect(encodeCursor(decoded)).toBe(changed)
          expect(decoded.business).toBe(made.business)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('a cursor of another business is refused', () => {
    const cursor = encodeCursor({ viewedAt: 5, business: 2, oid: '7' })
    expect(() => decodeCursor(cursor, [1, 3])).toThrow(
      expect.objectContaining({ code: 'CURSOR_INVALID', message: expect.stringContaining('other businesses') }),
    )
  })
})
