import { expect, test } from 'vitest'
import { makeConcurrencyLimit } from '../../../core/concurrency-limit.ts'
import { makeReadLatency } from '../../../core/outage/read-latency.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

const READ = { kind: 'page', size: 20 }
const ROUND = 8

function setup() {
  const clock = makeSteppedClock(1_000)
  const limit = makeConcurrencyLimit(clock, { callsMax: 8, callsAtFirst: 8 })
  const { judge } = makeReadLatency(clock, limit)
  /** These rounds of reads begin together, and each takes this time. */
  function reads(rounds: number, tookMs: number): void {
    for (let round = 0; round < rounds; round++) {
      const beganAt = clock.now()
      clock.advance(tookMs)
      for (let read = 0; read < ROUND; read++) judge(READ, beganAt, false)
    }
  }
  return { clock, limit, judge, reads }
}

test('two slow rounds cut the limit, and a cut that makes reads no faster twice is the last', () => {
  const { limit, reads } = setup()
  reads(1, 10)
  const limits = [2, 2, 2, 2].map((rounds) => {
    reads(rounds, 100)
    return limit.calls()
  })
  expect(limits).toEqual([4, 2, 2, 2])
})

test('reads that began before the cut of a failed read are not judged, and no cut of theirs counts as vain', () => {
  const { clock, limit, judge, reads } = setup()
  reads(1, 10)
  reads(1, 100)
  const beganAt = clock.now()
  clock.advance(100)
  expect(limit.cut(beganAt)).toBe('cut')
  expect(limit.calls()).toBe(4)
  for (let read = 0; read < ROUND; read++) judge(READ, beganAt - 1, false)
  const limits = [2, 2].map((rounds) => {
    reads(rounds, 100)
    return limit.calls()
  })
  expect(limits).toEqual([2, 1])
})
