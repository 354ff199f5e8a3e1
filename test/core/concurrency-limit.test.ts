import { expect, test } from 'vitest'
import { makeConcurrencyLimit } from '../../core/concurrency-limit.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

test('a round of fast calls that fill the limit raises it by one, up to the maximum', () => {
  const limit = makeConcurrencyLimit(makeSteppedClock(), { callsMax: 3 })
  const seen = [limit.calls()]
  for (let call = 0; call < 6; call++) {
    limit.grow(true)
    seen.push(limit.calls())
  }
  expect(seen).toEqual([1, 2, 2, 3, 3, 3, 3])
})

test('a limit that is not reached does not grow', () => {
  const limit = makeConcurrencyLimit(makeSteppedClock(), { callsMax: 8, callsAtFirst: 2 })
  for (let call = 0; call < 100; call++) limit.grow(false)
  expect(limit.calls()).toBe(2)
})

test('slow calls of one round halve the limit once, and a limit of one stays', () => {
  const clock = makeSteppedClock(1_000)
  const limit = makeConcurrencyLimit(clock, { callsMax: 8, callsAtFirst: 4 })
  clock.advance(100)
  expect([limit.cut(1_000), limit.cut(1_010), limit.calls()]).toEqual(['cut', 'earlier', 2])
  expect([limit.cut(1_100), limit.calls()]).toEqual(['cut', 1])
  expect([limit.cut(1_100), limit.calls()]).toEqual(['least', 1])
})
