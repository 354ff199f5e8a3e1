import { describe, expect, it } from 'vitest'
import { contentsHash, decodePost, decodeWords, encodePost, encodeWords, tombstoneOf } from '../../../subgraphs/feed/model/post-codec.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'

const POST: Post = {
  id: '9223372036854775807',
  author: '42',
  text: 'héllo 👋',
  media: ['https://example.com/a.png', 'https://example.com/b.png'],
  source: '9223372036854775806',
  audience: ['7', 'bob'],
  clientKey: 'a-key',
  version: 2 ** 49 - 1,
  deleted: false,
}

describe('post codec', () => {
  it('returns every field as it was', () => {
    expect(decodePost(POST.id, encodePost(POST))).toEqual(POST)
    const empty = { ...POST, text: '', media: [], source: undefined, audience: undefined, version: 0, deleted: true }
    expect(decodePost(POST.id, encodePost(empty))).toEqual(empty)
  })

  it('an empty audience stays restricted', () => {
    const hidden = { ...POST, audience: [] }
    expect(decodePost(POST.id, encodePost(hidden)).audience).toEqual([])
  })

  it('begins with author and client key, and ends with the version', () => {
    const bytes = Buffer.from(encodePost(POST))
    expect(bytes.subarray(0, 11)).toEqual(Buffer.from('\n\u000242\u0012\u0005a-key'))
    expect(bytes.readDoubleLE(bytes.length - 8)).toBe(POST.version)
  })

  it('an appended version wins', () => {
    const version = Buffer.from([0x79, 0, 0, 0, 0, 0, 0, 0, 0])
    version.writeDoubleLE(77, 1)
    expect(decodePost(POST.id, Buffer.concat([encodePost(POST), version])).version).toBe(77)
    expect(decodeWords(Buffer.concat([encodeWords({ words: ['a b'], version: 0 }), version]))).toEqual({ words: ['a b'], version: 77 })
  })

  it('the hash of contents differs with each of text, media, source and audience, and with nothing else', () => {
    const hash = contentsHash(POST)
    const others: Partial<Post>[] = [
      { text: 'x' },
      { text: '' },
      { media: [] },
      { media: POST.media.toReversed() },
      { source: undefined },
      { audience: undefined },
      { audience: [] },
    ]
    for (const other of others) expect(contentsHash({ ...POST, ...other })).not.toEqual(hash)
    for (const other of [{ author: '1' }, { clientKey: 'k' }]) expect(contentsHash({ ...POST, ...other })).toEqual(hash)
  })

  it('a tombstone keeps author, audience, source and client key only', () => {
    expect(tombstoneOf(POST, 5)).toEqual({ ...POST, text: '', media: [], version: 5, deleted: true })
  })
})
