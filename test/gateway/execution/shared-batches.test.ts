import { expect, it } from 'vitest'
import { makeRun } from '../../../gateway/execution/run.ts'
import { makeSharedBatches } from '../../../gateway/execution/shared-batches.ts'

const newRun = () => makeRun({}, {}, {})
const newBatch = () => ({})

it('fetches with equal inputs use one batch, and other fetches have their own', () => {
  const shared = makeSharedBatches<object>()
  const [first, second, other] = [
    [['videos', '@'], 'id'],
    [['videos', '@'], 'id'],
    [['videos', '@'], 'sku'],
  ].map((inputs) => shared.share(inputs, newBatch))
  const run = newRun()
  const batch = first?.(run)
  expect(second?.(run)).toBe(batch)
  expect(other?.(run)).not.toBe(batch)
})

it('no batch is used in another run, or after all fetches have started', () => {
  const shared = makeSharedBatches<object>()
  const collect = shared.share('inputs', newBatch)
  const forget = shared.seal()
  const run = newRun()
  const batch = collect(run)
  expect(collect(newRun())).not.toBe(batch)
  const again = collect(run)
  forget()
  expect(collect(run)).not.toBe(again)
})
