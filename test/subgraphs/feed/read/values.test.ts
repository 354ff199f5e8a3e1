import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import { postIdOf } from '../../../../subgraphs/feed/packed/post-id.ts'
import { ID_BYTES, packIds } from '../../../../subgraphs/feed/packed/vector.ts'
import {
  FLOOR_AT,
  LACKS_BOTH,
  encodeSection,
  goesOn,
  idsFrom,
  isSection,
  lacksOf,
  type Section,
} from '../../../../subgraphs/feed/packed/section.ts'
import {
  decodeContent,
  decodeInbox,
  encodeContent,
  encodeInbox,
  isContent,
  isInbox,
  stampOf,
} from '../../../../subgraphs/feed/read/values.ts'

const vector = fc.array(fc.nat().map(String), { maxLength: 10 }).map(packIds)
const floor = fc.nat().map((id) => packIds([String(id)]))
const lacks = fc.nat({ max: LACKS_BOTH })
const section = fc.oneof(
  fc.record({ ids: vector, hasMore: fc.constant(false), lacks }, { noNullPrototype: true }),
  fc.record({ ids: vector, hasMore: fc.constant(true), floor, lacks }, { noNullPrototype: true }),
)
const cachedSection = section.map((one) => ({ ...one, lacks: 0 }))
const words = fc.record({ words: fc.array(fc.string({ unit: 'grapheme' })), version: fc.maxSafeNat() }, { noNullPrototype: true })

const [PUBLIC, RESTRICTED] = [postIdOf(1_000, 3), postIdOf(1_001, 3)]
const POST: Post = {
  id: PUBLIC,
  author: 'a',
  text: 'some text',
  media: [],
  source: undefined,
  audience: undefined,
  clientKey: 'k',
  version: 9,
  deleted: false,
}

/** By the offsets and flags that a merge reads. */
function decodeSection(bytes: Buffer): Section {
  const ids = bytes.subarray(idsFrom(bytes))
  if (!goesOn(bytes)) return { ids, hasMore: false, lacks: lacksOf(bytes) }
  return { ids, hasMore: true, floor: bytes.subarray(FLOOR_AT, FLOOR_AT + ID_BYTES), lacks: lacksOf(bytes) }
}

describe('a cached value', () => {
  it('returns its section unchanged', () => {
    fc.assert(
      fc.property(section, (one) => {
        expect(decodeSection(encodeSection(one))).toStrictEqual(one)
      }),
    )
  })

  it('returns its inbox and words unchanged', () => {
    fc.assert(
      fc.property(section, words, (one, some) => {
        const { section: read, words: readWords } = decodeInbox(encodeInbox({ section: encodeSection(one), words: some }))
        expect(decodeSection(read)).toStrictEqual(one)
        expect({ ...readWords }).toStrictEqual(some)
      }),
    )
  })

  it('returns its post, or that there is no post', () => {
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

  it('is intact as it was encoded', () => {
    fc.assert(
      fc.property(cachedSection, words, (one, some) => {
        expect(isSection(encodeSection(one))).toBe(true)
        expect(isInbox(encodeInbox({ section: encodeSection(one), words: some }))).toBe(true)
      }),
    )
    expect(isContent(PUBLIC, encodeContent(POST, 0))).toBe(true)
    expect(isContent(RESTRICTED, encodeContent({ ...POST, audience: [] }, 0))).toBe(true)
  })

  it('is damaged, and no check throws, if it was cut, or is empty or of another class', () => {
    const list = encodeSection({ ids: packIds(['1', '2', '3']), hasMore: true, floor: packIds(['1']), lacks: 0 })
    const inbox = encodeInbox({ section: list, words: { words: ['word'], version: 7 } })
    const content = encodeContent(POST, 0)
    for (const wrong of [Buffer.alloc(0), list.subarray(0, 6), list.subarray(0, -3), inbox, content, list.subarray(1)])
      expect(isSection(wrong)).toBe(false)
    for (const wrong of [Buffer.alloc(0), inbox.subarray(0, 3), inbox.subarray(0, 20), inbox.subarray(0, -4), list, content])
      expect(isInbox(wrong)).toBe(false)
    for (const wrong of [
      Buffer.alloc(0),
      content.subarray(0, 1),
      content.subarray(0, 5),
      content.subarray(0, -1),
      inbox,
      Buffer.from('rubbish'),
    ])
      expect(isContent(PUBLIC, wrong)).toBe(false)
  })

  it('is damaged if a restricted post lost its audience, or a public one has one', () => {
    expect(isContent(RESTRICTED, encodeContent(POST, 0))).toBe(false)
    expect(isContent(PUBLIC, encodeContent({ ...POST, audience: ['9'] }, 0))).toBe(false)
  })

  it('never makes a check throw, whatever its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const value = Buffer.from(bytes)
        for (const check of [isSection, isInbox, (some: Buffer) => isContent(PUBLIC, some)]) expect(typeof check(value)).toBe('boolean')
      }),
    )
  })

  it('is not kept by a cache if a store was down when it was loaded', () => {
    expect(stampOf(0, 3, 7)).toBe(7)
    for (const lack of [1, 2, 3]) expect(stampOf(lack, 3, 7)).toBeLessThan(0)
  })
})
