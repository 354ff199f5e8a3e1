import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeMarkCursor,
  encodeMarkCursor,
  placeAtOrBefore,
  type MarkList,
  compareMarkPlaces,
} from '../../../../subgraphs/thumbup/model/places.ts'

const id = fc
  .oneof(fc.nat().map(String), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }), fc.constantFrom('007', '9223372036854775808'))
  .filter((text) => text.length > 0 && Buffer.byteLength(text) <= 64)
const place = fc.record({ markedAt: fc.integer({ min: 0, max: 2 ** 48 }), id })
const list: fc.Arbitrary<MarkList> = fc.record({
  kind: fc.constantFrom('likers' as const, 'likes' as const),
  business: fc.integer({ min: 1, max: 65_535 }),
  id,
})
const refusal = expect.objectContaining({ code: 'CURSOR_INVALID' })

describe('cursors of lists of marks', () => {
  it('name the place that they were made from', () => {
    fc.assert(
      fc.property(list, place, (of, made) => {
        expect(decodeMarkCursor(of, encodeMarkCursor(of, made))).toEqual(made)
      }),
    )
  })

  it('are refused by every other list', () => {
    fc.assert(
      fc.property(list, list, place, (one, other, made) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        expect(() => decodeMarkCursor(other, encodeMarkCursor(one, made))).toThrow(refusal)
      }),
    )
  })

  it('that are changed or cut are refused, or name another place of the same list', () => {
    fc.assert(
      fc.property(list, place, fc.nat(), fc.constantFrom(...'AZaz09-_+'.split('')), (of, made, position, character) => {
        const cursor = encodeMarkCursor(of, made)
        const at = position % cursor.length
        for (const changed of [cursor.slice(0, at), cursor.slice(0, at) + character + cursor.slice(at + 1), `${cursor}A`, '']) {
          let decoded
          try {
            decoded = decodeMarkCursor(of, changed)
          } catch (error) {
            expect(error).toEqual(refusal)
            continue
          }
          expect(encodeMarkCursor(of, decoded)).toBe(changed)
        }
      }),
    )
  })

  it('the place before a time is before every mark of that time, and after every later mark', () => {
    fc.assert(
      fc.property(place, (made) => {
        expect(compareMarkPlaces(placeAtOrBefore(made.markedAt), made)).toBeLessThan(0)
        expect(compareMarkPlaces(placeAtOrBefore(made.markedAt), { ...made, markedAt: made.markedAt + 1 })).toBeGreaterThan(0)
      }),
    )
  })
})
