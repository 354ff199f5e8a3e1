import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packIds } from '../../../../subgraphs/feed/packed/vector.ts'
import {
  LACKS_BOTH,
  decodeContent,
  decodeInbox,
  decodeSection,
  encodeContent,
  encodeInbox,
  encodeSection,
  stampOf,
} from '../../../../subgraphs/feed/read/values.ts'

const vector = fc.array(fc.nat().map(String), { maxLength: 10 }).map(packIds)
const floor = fc.nat().map((id) => packIds([String(id)]))
const lacks = fc.nat({ max: LACKS_BOTH })
const section = fc.oneof(
  fc.record({ ids: vector, hasMore: fc.constant(false), lacks }, { noNullPrototype: true }),
  fc.record({ ids: vector, hasMore: fc.constant(true), floor, lacks }, { noNullPrototype: true }),
)
const words = fc.record({ words: fc.array(fc.string({ unit: 'grapheme' })), version: fc.maxSafeNat() }, { noNullPrototype: true })

describe('a cached value', () => {
  it('gives its section back', () => {
    fc.assert(
      fc.property(section, (one) => {
        expect(decodeSection(encodeSection(one))).toStrictEqual(one)
      }),
    )
  })

  it('gives its inbox and words back', () => {
    fc.assert(
      fc.property(section, words, (one, some) => {
        const { section: read, words: readWords } = decodeInbox(encodeInbox({ section: one, words: some }))
        expect(read).toStrictEqual(one)
        expect({ ...readWords }).toStrictEqual(some)
      }),
    )
  })

  it('gives its post back, or says that there is none', () => {
    const post = {
      id: '77',
      author: 'a',
      text: 't',
      media: ['https://m'],
      source: '5',
      audience: ['b'],
      clientKey: 'k',
      version: 9,
      deleted: false,
    }
    expect(decodeContent('77', encodeContent(post, 1))).toStrictEqual({ post, lacks: 1 })
    expect(decodeContent('77', encodeContent(undefined, 2))).toStrictEqual({ post: undefined, lacks: 2 })
  })

  it('is not kept by a cache if a store was down when it was loaded', () => {
    expect(stampOf(0, 3, 7)).toBe(7)
    for (const lack of [1, 2, 3]) expect(stampOf(lack, 3, 7)).toBeLessThan(0)
  })
})
