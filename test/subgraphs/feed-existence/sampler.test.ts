import { expect, test } from 'vitest'
import { seededRandom } from '../../../core/random.ts'
import { addToFilter, openFilter } from '../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'
import { makeSampler } from '../../../subgraphs/feed-existence/read/sampler.ts'

test('a viewer without filters is not sampled, because that would lower the measured false positive rate', () => {
  const sampler = makeSampler(seededRandom(1), 1, undefined, (error) => expect.unreachable(String(error)))
  for (let call = 0; call < 5; call++) sampler.sample('7', 1, [], [])
  expect(sampler.figures()).toMatchObject({ probes: 0, hits: 0 })
  // At a rate of one half, about 100 of 200 hit.
  const probe = openFilter(addToFilter(undefined, hashSeen(1, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']), { rate: 0.5, recordsMax: 0 }))
  sampler.sample('8', 1, [{ month: 680, probe }], [])
  const { probes, hits } = sampler.figures()
  expect([probes, hits]).toEqual([200, expect.any(Number)])
  expect(hits).toBeGreaterThan(20)
})
