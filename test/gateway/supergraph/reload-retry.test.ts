/** A graph that changes for the worse: the schema of a real partner does not compose. */
import { afterEach, expect, test } from 'vitest'
import { makeReloadRetry } from '../../../gateway/supergraph/reload-retry.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'
import { until } from '../../../harness/until.ts'
import { begin, countOf, ends, endAll } from './served.ts'
import { VIDEOS } from '../../support/partner.ts'

const LONGER = VIDEOS.replace('title: String', 'title: String length: Int')
const BROKEN = VIDEOS.replace('title: String', 'title: String position: Int')
afterEach(endAll)

async function broken() {
  const served = await begin('url')
  const clock = makeSteppedClock()
  const errors: unknown[] = []
  const retry = makeReloadRetry(
    () => served.supergraph.reload('a change'),
    clock,
    (error) => errors.push(error),
  )
  ends.push(() => retry.stop())
  served.partner.become(BROKEN)
  retry.begin()
  return { ...served, clock, retry, errors }
}

/** Milliseconds from a failed try to the next one. */
async function pauseOf(clock: SteppedClock): Promise<number> {
  await until('a try has failed', () => clock.pending() === 1)
  const failedAt = clock.now()
  while (clock.pending() === 1) clock.advance(50)
  return clock.now() - failedAt
}

test('a graph that fails is tried until it serves, with growing pauses, one log line, and a count of each failure', async () => {
  const { clock, registry, logged, partner, errors } = await broken()
  const pauses: number[] = []
  for (let tries = 1; tries <= 10; tries++) pauses.push(await pauseOf(clock))
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  await until('the eleventh try has failed', () => clock.pending() === 1)
  // The alert TidemarkGraphNotReloaded fires while this number grows.
  expect(await countOf(registry, 'failed')).toBe(11)
  expect(logged.filter(({ level }) => level >= 50)).toHaveLength(1)
  partner.become(LONGER)
  clock.advance(60_000)
  await until('the graph serves', async () => (await countOf(registry, 'swapped')) === 1)
  expect([clock.pending(), errors]).toEqual([0, []])
})

test('a newer change is tried at once, and again after a short pause', async () => {
  const { clock, retry, registry } = await broken()
  for (let tries = 1; tries <= 4; tries++) await pauseOf(clock)
  await until('the fifth try has failed', () => clock.pending() === 1)
  retry.begin()
  expect(await pauseOf(clock)).toBe(250)
  await until('the seventh try has failed', () => clock.pending() === 1)
  expect(await countOf(registry, 'failed')).toBe(7)
})

test('no try follows the end of the process', async () => {
  const { clock, retry, registry } = await broken()
  await until('a try has failed', () => clock.pending() === 1)
  await retry.stop()
  expect(clock.pending()).toBe(0)
  clock.advance(60_000)
  expect(await countOf(registry, 'failed')).toBe(1)
})
