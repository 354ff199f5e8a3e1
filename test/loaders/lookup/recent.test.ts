import { expect, it } from 'vitest'
import { makeRecent } from '../../../loaders/lookup/recent.ts'

it('tells a text that came in the same period, until the period ends', () => {
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

it('takes practically no new text for a known one', () => {
  const recent = makeRecent(1_000)
  const texts = Array.from({ length: 200_000 }, (_, at) => `1:${at}`)
  expect(texts.filter((text) => recent.has(text, 0)).length).toBeLessThan(50)
})
