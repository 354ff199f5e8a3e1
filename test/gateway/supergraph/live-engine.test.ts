/** What an engine leaves behind when another takes its place. */
import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeGeneration } from '../../../gateway/supergraph/generation.ts'
import { makeLiveEngine, type Candidate } from '../../../gateway/supergraph/live-engine.ts'
import { openGraph } from '../engine-graph.ts'

test('an engine that was replaced forgets what it prepared: a subscription that goes on must not keep all of it', () => {
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
