import { expect, onTestFinished, test } from 'vitest'
import { TidemarkError, type ErrorCode } from '../../../../core/errors.ts'
import { makeStaging } from '../../../../subgraphs/feed-existence/write/staging.ts'
import { makeSeenStoreModel } from '../../../../harness/models/feed-existence/hot-store-model.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { until } from '../../../../harness/until.ts'
import { HOUR } from '../opened.ts'

const SHAPE = { slots: 6, shards: 4 }

/** Folds of viewer 7 fail with `code`: as reported for the viewer, or as a rejection of the call. */
function open(code: ErrorCode, how: 'reported' | 'rejected', isHeld = false) {
  const clock = makeSteppedClock()
  const folded: string[] = []
  const errors: unknown[] = []
  const held = Promise.withResolvers<void>()
  const staging = makeStaging(
    clock,
    makeSeenStoreModel(2, SHAPE),
    SHAPE,
    1,
    async (_, [viewer = '']) => {
      folded.push(viewer)
      if (isHeld) await held.promise
      const error = new TidemarkError(code, 'the fold fails')
      if (viewer === '7' && how === 'rejected') throw error
      return { plays: 0, writes: 0, refused: 0, closed: 0, quarantined: 0, failed: viewer === '7' ? [{ viewer, error }] : [] }
    },
    (error) => errors.push(error),
  )
  onTestFinished(staging.stop)
  let oid = 0
  const play = (viewer: string, count = 1) =>
    staging.stage(Array.from({ length: count }, () => ({ viewer, business: 1, oid: String(oid++), playedAt: clock.now() })))
  const foldsOf = (viewer: string): number => folded.filter((each) => each === viewer).length
  /** Waiting viewers are folded in order. Once a new fold of viewer 8 is done, no viewer waits. */
  async function drained(): Promise<void> {
    const before = staging.figures().earlyFolds
    await play('8', 2)
    await until('those before viewer 8 were folded', () => staging.figures().earlyFolds > before)
  }
  return { clock, staging, errors, play, foldsOf, drained, release: held.resolve }
}

test.each(['PLAYS_TOO_MANY', 'DATA_INCOMPATIBLE'] as const)(
  'a viewer whose early fold ends in %s is folded and reported once per hour, regardless of further plays',
  async (code) => {
    const { clock, errors, play, foldsOf, drained } = open(code, 'reported')
    // The seventh hour has the slot of the first one.
    for (const hour of [1, 2, 3, 4, 5, 6, 7]) {
      for (let turn = 0; turn < 3; turn++) {
        await play('7', 2)
        await drained()
      }
      expect([foldsOf('7'), errors.length, foldsOf('8')]).toEqual([hour, hour, 3 * hour])
      clock.advance(HOUR)
    }
  },
)

test('a play during a failing fold does not fold its viewer again', async () => {
  const { play, foldsOf, drained, release } = open('PLAYS_TOO_MANY', 'reported', true)
  await play('7', 2)
  await until('the fold is under way', () => foldsOf('7') === 1)
  await play('7', 2)
  release()
  await drained()
  expect(foldsOf('7')).toBe(1)
})

test.each([
  ['a store that does not answer', 'RECORD_STORE_UNAVAILABLE', 'rejected'],
  ['lost races on each of its writes', 'INTERNAL', 'reported'],
] as const)('a fold that fails for %s is retried with the next play', async (_, code, how) => {
  const { play, foldsOf, drained } = open(code, how)
  for (const turn of [1, 2, 3]) {
    await play('7', 2)
    await drained()
    expect(foldsOf('7')).toBe(turn)
  }
})
