import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  POST_EPOCH_MS,
  TICKS_PER_MS,
  createdAtOf,
  isPostId,
  isRestrictedId,
  postIdOf,
  postTick,
  regionOfPost,
  tickAfter,
  tickOf,
} from '../../../../subgraphs/feed/packed/post-id.ts'

const tick = fc.integer({ min: 0, max: 2 ** 49 - 1 })
const region = fc.nat({ max: 2 ** 14 - 1 })

describe('a post id', () => {
  it('has its tick and its region', () => {
    fc.assert(
      fc.property(tick, region, (oneTick, oneRegion) => {
        const id = postIdOf(oneTick, oneRegion)
        expect(tickOf(id)).toBe(oneTick)
        expect(regionOfPost(id)).toBe(oneRegion)
        expect(isPostId(id, 2 ** 14)).toBe(true)
        expect(BigInt(id) < 2n ** 63n).toBe(true)
      }),
    )
  })

  it('is above all ids of earlier ticks, whatever the regions', () => {
    fc.assert(
      fc.property(tick, tick, region, region, (a, b, aRegion, bRegion) => {
        if (a < b) expect(BigInt(postIdOf(a, aRegion)) < BigInt(postIdOf(b, bRegion))).toBe(true)
      }),
    )
  })

  it('says whether the post is restricted, at the price of one tick at most', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 48 }), region, fc.boolean(), (first, oneRegion, isRestricted) => {
        const next = postTick(first, isRestricted)
        expect([first, first + 1]).toContain(next)
        expect(isRestrictedId(postIdOf(next, oneRegion))).toBe(isRestricted)
      }),
    )
  })

  it('has the millisecond of its tick as its time', () => {
    const now = Date.UTC(2026, 10, 23, 12, 34, 56, 789)
    expect(createdAtOf(postIdOf(tickAfter(0, now), 3))).toBe(now)
    expect(createdAtOf(postIdOf(tickAfter(0, now) + TICKS_PER_MS - 1, 3))).toBe(now)
    expect(createdAtOf(postIdOf(0, 0))).toBe(POST_EPOCH_MS)
  })

  it('follows a clock that goes on, stands still or is set back, and never repeats a tick', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000, max: 1_000 }), { maxLength: 50 }), (moves) => {
        let now = Date.UTC(2026, 0, 1)
        let last = tickAfter(0, now)
        for (const move of moves) {
          now += move
          const next = tickAfter(last, now)
          expect(next).toBeGreaterThan(last)
          expect(next).toBeGreaterThanOrEqual((now - POST_EPOCH_MS) * TICKS_PER_MS)
          last = next
        }
      }),
    )
  })

  it('is refused if it is no integer, or has a region that the deployment lacks', () => {
    expect(isPostId(postIdOf(1, 15), 16)).toBe(true)
    expect(isPostId(postIdOf(1, 16), 16)).toBe(false)
    for (const id of ['', 'abc', '007', '-1', '9223372036854775808', '1e3']) expect(isPostId(id, 16)).toBe(false)
  })
})
