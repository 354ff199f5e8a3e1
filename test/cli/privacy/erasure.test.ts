/** The passes of an erasure, with places in memory. */
import { expect, test } from 'vitest'
import { eraseInPasses } from '../../../cli/privacy/erasure.ts'
import { systemClock } from '../../../core/clock.ts'
import { TidemarkError } from '../../../core/errors.ts'

function makePlace() {
  let entries = 1
  return {
    put: () => void entries++,
    place: {
      name: 'records',
      async erase() {
        const removed = entries
        entries = 0
        return removed
      },
      count: () => Promise.resolve(entries),
    },
  }
}

test('a row that a slow step writes after the passes is removed by the last pass', async () => {
  const { place, put } = makePlace()
  const options = { passesMax: 6, settle: () => Promise.resolve(), settleSlow: async () => put() }
  expect(await eraseInPasses(systemClock, '7', [place], options)).toEqual([{ place: 'records', removed: 2, left: 0 }])
})

test('an erasure with a failed place does not wait for slow steps', async () => {
  const { place } = makePlace()
  const down = () => Promise.reject(new TidemarkError('HOT_STORE_UNAVAILABLE', 'down'))
  const settleSlow = () => Promise.reject(new Error('not called'))
  const options = { passesMax: 6, settle: () => Promise.resolve(), settleSlow }
  const [, failed] = await eraseInPasses(systemClock, '7', [place, { name: 'hot', erase: down, count: down }], options)
  expect(failed?.failure?.code).toBe('HOT_STORE_UNAVAILABLE')
})
