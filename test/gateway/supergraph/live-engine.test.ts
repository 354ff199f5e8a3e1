/** The memory of an engine after its replacement. */
import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeGeneration } from '../../../gateway/supergraph/generation.ts'
import { makeLiveEngine, type Candidate } from '../../../gateway/supergraph/live-engine.ts'
import { openGraph } from '../engine-graph.ts'

test('a replaced engine drops its prepared operations, also while a subscription continues', () => {
  const open = (): Candidate => ({ engine: openGraph(), generation: makeGeneration(), release() {} })
  const [before, after] = [open(), open()]
  const live = makeLiveEngine(before, systemClock)
  const prepared = live.prepare('{ numbers }')
  expect(live.prepare('{ numbers }')).toBe(prepared)
  live.swap(after)
  expect(before.engine.prepare('{ numbers }')).not.toBe(prepared)
  expect(live.prepare('{ numbers }')).toBe(after.engine.prepare('{ numbers }'))
  live.close()
})
