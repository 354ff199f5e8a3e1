import { expect, it } from 'vitest'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { makeRecent } from '../../../loaders/lookup/recent.ts'

it('reports a repeated text until the period ends', () => {
  const recent = makeRecent(1_000)
  expect(['a', 'b', 'a', 'b'].map((text) => recent.has(text, 5_000))).toEqual([false, false, true, true])
  expect(recent.has('a', 5_999)).toBe(true)
  expect(recent.has('a', 6_000)).toBe(false)
  expect(recent.has('a', 6_999)).toBe(true)
})

it('begins a new period after the clock is set back', () => {
  const recent = makeRecent(1_000)
  recent.has('a', 5_000)
  expect(recent.has('a', 4_999)).toBe(false)
  expect(recent.has('a', 5_998)).toBe(true)
})

it('forgets one text, or all', () => {
  const recent = makeRecent(1_000)
  for (const text of ['a', 'b', 'c']) recent.has(text, 0)
  recent.forget('b')
  expect(recent.has('b', 1)).toBe(false)
  expect(recent.has('a', 1)).toBe(true)
  recent.clear()
  expect(recent.has('a', 2)).toBe(false)
})

it('reports at most 12 of 200,000 new texts as known', () => {
  const recent = makeRecent(1_000)
  const random = seededRandom(110)
  const texts = new Set(Array.from({ length: 200_000 }, () => `1:${randomBelow(random, 2 ** 45)}`))
  expect([...texts].filter((text) => recent.has(text, 0)).length).toBeLessThanOrEqual(12)
})
