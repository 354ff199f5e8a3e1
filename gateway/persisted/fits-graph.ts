/**
 * What persisted operations have against a new graph. One that works now and would not any more refuses it: released
 * clients send it. One that fails already is no reason: its release may come before its schema.
 */
import type { Engine } from '../operation/engine.ts'
import type { Check } from '../supergraph/reload.ts'
import { sentenceOf, type LiveSet } from './live-set.ts'
import { failuresOf, prepareOne, type Preparing } from './pinned.ts'

/** `serving` is whichever engine is in use. */
export function checkPersisted(persisted: Pick<LiveSet, 'prepareWith'>, serving: Preparing): Check {
  return async (candidate: Engine) => {
    const { failures, commit } = await persisted.prepareWith(candidate)
    const lost = failures.filter(({ operation }) => failuresOf(operation, prepareOne(serving, operation)).length === 0)
    return { refusals: lost.map(sentenceOf), commit }
  }
}
