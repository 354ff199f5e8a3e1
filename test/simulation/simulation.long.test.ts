import { expect, it } from 'vitest'
import { makeHistory } from '../../harness/simulation/history-of-events.ts'
import { explain, LIVELY_STEPS, simulate } from '../../harness/simulation/simulate.ts'
import { runFeedWorld } from '../../harness/simulation/feed/world.ts'
import { runMarkWorld } from '../../harness/simulation/thumbup/world.ts'
import { runSeenWorld } from '../../harness/simulation/feed-existence/world.ts'
import { START } from '../../harness/simulation/history/draws.ts'
import { runWorld } from '../../harness/simulation/history/world.ts'

it('two thousand worlds keep every promise', async () => {
  const { failure, seeds } = await simulate('history', { first: 1, seeds: 2_000 })
  expect(failure).toBeUndefined()
  expect(seeds).toBe(2_000)
})

it.each([
  ['always the same', 1],
  ['of today', Math.floor(Date.now() / 86_400_000) * 10_000],
])('three hundred worlds of marks, %s, keep every promise', async (_, first) => {
  const { failure, seeds } = await simulate('thumbup', { first, seeds: 300 })
  // The failure names its seed: `npm run simulate -- --world thumbup --first SEED --seeds 1` shows it again.
  expect(failure).toBeUndefined()
  expect(seeds).toBe(300)
})

it.each([
  ['always the same', 1],
  ['of today', Math.floor(Date.now() / 86_400_000) * 10_000],
])('three hundred worlds of seen subjects, %s, keep every promise', async (_, first) => {
  const { failure, seeds } = await simulate('existence', { first, seeds: 300 })
  // The failure names its seed: `npm run simulate -- --world existence --first SEED --seeds 1` shows it again.
  expect(failure).toBeUndefined()
  expect(seeds).toBe(300)
})

// `feed/worlds.test.ts` has those that are always the same.
it('two hundred worlds of the feed, of today, keep every promise', { timeout: 600_000 }, async () => {
  const { failure, seeds } = await simulate('feed', { first: Math.floor(Date.now() / 86_400_000) * 10_000, seeds: 200 })
  // The failure names its seed: `npm run simulate -- --world feed --first SEED --seeds 1` shows it again.
  expect(failure).toBeUndefined()
  expect(seeds).toBe(200)
})

it.each([
  ['history', runWorld],
  ['marks', runMarkWorld],
  ['seen subjects', runSeenWorld],
  ['the feed', runFeedWorld],
])('a seed of %s replays exactly: every event, in the same order, at the same time', async (_, run) => {
  const lines = async (seed: number): Promise<string[]> => {
    const history = makeHistory(START)
    await run(seed, { livelySteps: LIVELY_STEPS, faults: {} }, history)
    return history.lines(undefined, Infinity)
  }
  for (const seed of [2, 3, 4]) {
    const first = await lines(seed)
    expect(first.length).toBeGreaterThan(200)
    expect(await lines(seed)).toEqual(first)
  }
  expect(await lines(2)).not.toEqual(await lines(3))
})

it('a failure prints the last events of its viewer', async () => {
  const { failure } = await simulate('history', { first: 1, seeds: 100, faults: { trimsDirty: true } })
  expect(failure?.message).toMatch(/^line \d: .*viewer/)
  expect(failure?.history.length).toBeLessThanOrEqual(61)
  expect(await explain('history', failure?.seed ?? 0, { trimsDirty: true })).toEqual(failure)
})
