import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeMarkCursor } from '../../../../subgraphs/thumbup/model/places.ts'
import { decodePostCursor, encodePostCursor, type PostListName } from '../../../../subgraphs/feed/model/cursors.ts'
import { postIdOf } from '../../../../subgraphs/feed/packed/post-id.ts'

const INVALID = expect.objectContaining({ code: 'CURSOR_INVALID' })
const HOME: PostListName = { kind: 'homeFeed', owner: '7' }
const anyPostId = fc.tuple(fc.nat({ max: 2 ** 48 }), fc.nat({ max: 2 ** 14 - 1 })).map(([tick, region]) => postIdOf(tick, region))

describe('a cursor of posts', () => {
  it('gives the id back, to its own list only', () => {
    fc.assert(
      fc.property(anyPostId, (id) => {
        const cursor = encodePostCursor(HOME, id)
        expect(decodePostCursor(HOME, cursor)).toBe(id)
        for (const other of [
          { ...HOME, owner: '8' },
          { ...HOME, kind: 'posts' as const },
        ])
          expect(() => decodePostCursor(other, cursor)).toThrow(INVALID)
      }),
    )
  })

  it('is refused if this API did not make it', () => {
    const cursor = encodePostCursor(HOME, postIdOf(1, 1))
    const marks = encodeMarkCursor({ kind: 'likes', business: 1, id: '7' }, { markedAt: 1, id: '1' })
    for (const text of [
      '',
      'x',
      marks,
      `${cursor}A`,
      `${cursor}=`,
      cursor.slice(0, -1),
      'A'.repeat(500),
      Buffer.alloc(13, 4).toString('base64url'),
    ])
      expect(() => decodePostCursor(HOME, text)).toThrow(INVALID)
    expect(() => decodePostCursor(HOME, marks)).toThrow(`cursor "${marks.slice(0, 24)}…" is not one of this list: send endCursor`)
    const negative = Buffer.from(cursor, 'base64url')
    negative[1] = 0x80
    expect(() => decodePostCursor(HOME, negative.toString('base64url'))).toThrow(INVALID)
  })

  it('is refused as a changed text, unless the change names another place of the list', () => {
    fc.assert(
      fc.property(anyPostId, fc.nat({ max: 12 }), fc.integer({ min: 1, max: 255 }), (id, at, change) => {
        const bytes = Buffer.from(encodePostCursor(HOME, id), 'base64url')
        bytes[at] = (bytes[at] as number) ^ change
        const text = bytes.toString('base64url')
        if (at === 0 || at > 8) expect(() => decodePostCursor(HOME, text)).toThrow(INVALID)
      }),
    )
  })
})
