import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeSharedWindow, waitFor } from '../../../gateway/limits/sliding-window.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

function window(points: number, perSeconds: number) {
  return makeSharedWindow({ points, perSeconds }, (duration) => new RateLimiterMemory({ points, duration }), systemClock)
}

describe('a sliding window', () => {
  it('allows the limit and no more, and returns the time to wait', async () => {
    const { spend } = window(100, 10)
    expect(await spend('a', 60)).toBe(0)
    expect(await spend('a', 40)).toBe(0)
    const waitMs = await spend('a', 1)
    expect(waitMs).toBeGreaterThan(0)
    expect(await spend('b', 100)).toBe(0)
    vi.advanceTimersByTime(waitMs)
    expect(await spend('a', 1)).toBe(0)
  })

  it('does not allow twice the limit around a boundary', async () => {
    const { spend } = window(100, 10)
    vi.advanceTimersByTime(9_900)
    expect(await spend('a', 100)).toBe(0)
    vi.advanceTimersByTime(200)
    expect(await spend('a', 50)).toBeGreaterThan(0)
    expect(await spend('a', 1)).toBe(0)
  })

  it('never allows more than the limit and one operation within any window', async () => {
    const { spend } = window(50, 10)
    const spent: { at: number; cost: number }[] = []
    let seed = 7
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    for (let step = 0; step < 2_000; step += 1) {
      vi.advanceTimersByTime(Math.floor(random() * 400))
      const cost = 1 + Math.floor(random() * 5)
      if ((await spend('a', cost)) === 0) spent.push({ at: Date.now(), cost })
    }
    // The previous window counts as evenly spent. A true window may therefore allow some more in the worst case, but never twice the limit.
    const worst = Math.max(
      ...spent.map(({ at }) => spent.filter((each) => each.at > at - 10_000 && each.at <= at).reduce((sum, each) => sum + each.cost, 0)),
    )
    expect(worst).toBeLessThan(50 * 1.3)
    expect(spent.reduce((sum, { cost }) => sum + cost, 0)).toBeGreaterThan(50 * 30)
  })

  it('does not count a refused cost: a caller that waits as long as it was told is admitted', async () => {
    const { spend } = window(10, 10)
    await spend('a', 10)
    for (let attempt = 0; attempt < 100; attempt += 1) expect(await spend('a', 10)).toBeGreaterThan(0)
    vi.advanceTimersByTime(await spend('a', 10))
    expect(await spend('a', 10)).toBe(0)
  })

  it('allows a cost above the limit if nothing else was spent', async () => {
    const { spend } = window(10, 10)
    expect(await spend('a', 1_000)).toBe(0)
    expect(await spend('a', 1)).toBeGreaterThan(0)
  })

  it('waits exactly until there is room', () => {
    const base = { points: 100, windowMs: 10_000, elapsedMs: 2_000, spent: 20, previous: 100, cost: 10 }
    const waitMs = waitFor(base)
    expect(waitFor({ ...base, elapsedMs: base.elapsedMs + waitMs })).toBe(0)
    expect(waitFor({ ...base, elapsedMs: base.elapsedMs + waitMs - 10 })).toBeGreaterThan(0)
  })
})
