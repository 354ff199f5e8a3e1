import { expect, test } from 'vitest'
import { makeTokenBucket } from '../../core/token-bucket.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

test('a bucket allows the rate of one second at once, and that rate per second afterwards', () => {
  const clock = makeSteppedClock()
  const bucket = makeTokenBucket(clock, 10)
  const taken = () => {
    let count = 0
    while (bucket.take(1)) count++
    return count
  }
  expect(taken()).toBe(10)
  clock.advance(99)
  expect(taken()).toBe(0)
  clock.advance(1)
  expect(taken()).toBe(1)
  clock.advance(60_000)
  expect(taken()).toBe(10)
  expect(bucket.take(11)).toBe(false)
})

test('a call larger than the burst passes once, and the bucket then refuses until it has filled up again', () => {
  const clock = makeSteppedClock()
  const bucket = makeTokenBucket(clock, 10)
  expect([bucket.takeAhead(25), bucket.takeAhead(1), bucket.takeAhead(0)]).toEqual([true, false, true])
  clock.advance(1_500)
  expect(bucket.takeAhead(1)).toBe(false)
  clock.advance(100)
  expect([bucket.takeAhead(1), bucket.takeAhead(1)]).toEqual([true, false])
})

test('a clock that was set back neither fills nor empties the bucket', () => {
  let now = 10_000
  const bucket = makeTokenBucket({ now: () => now, after: () => ({ cancel() {} }) }, 2)
  bucket.take(1)
  now = 0
  expect([bucket.take(1), bucket.take(1)]).toEqual([true, false])
})
