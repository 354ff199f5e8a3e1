/** Some worlds of the feed. `simulation.long.test.ts` has thousands. */
import { expect, it } from 'vitest'
import { simulate } from '../../../harness/simulation/simulate.ts'

it('two hundred worlds of the feed keep every promise', async () => {
  const { failure, seeds } = await simulate('feed', { first: 1, seeds: 200 })
  // The failure names its seed: `npm run simulate -- --world feed --first SEED --seeds 1` shows it again.
  expect(failure).toBeUndefined()
  expect(seeds).toBe(200)
})

it('a page that does not ask for changes is found', async () => {
  const { failure } = await simulate('feed', { first: 1, seeds: 100, faults: { asksNothing: true } })
  expect(failure?.message).toMatch(/^(missing|deleted|followed|words|scroll): /)
  expect(failure?.history.length).toBeLessThanOrEqual(61)
})
