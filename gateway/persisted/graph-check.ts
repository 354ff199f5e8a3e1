/**
 * What persisted operations have against a new graph. One that works now and would not any more refuses it: released
 * clients send it. One that fails already is no reason: its release may come before its schema.
 */
import type { Engine } from '../operation/engine.ts'
import type { GraphCheck } from '../supergraph/reload.ts'
import { failureSentence, type LiveSet } from './live-set.ts'
import { failuresOf, prepareOne, type PinningEngine } from './pinned-operations.ts'

/** `serving` is whichever engine is in use. */
export function checkPersisted(persisted: Pick<LiveSet, 'prepareWith'>, serving: PinningEngine): GraphCheck {
  return async (candidate: Engine) => {
    const { failures, commit } = await persisted.prepareWith(candidate)
    const lost = failures.filter(({ operation }) => failuresOf(operation, prepareOne(serving, operation)).length === 0)
    return { refusals: lost.map(failureSentence), commit }
  }
}
