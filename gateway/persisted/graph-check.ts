/**
 * Checks a new graph against the persisted operations. The graph is refused if an operation that works now would fail: released clients
 * send it. An operation that fails already is no reason, because its release may come before its schema.
 */
import type { Engine } from '../operation/engine.ts'
import type { GraphCheck } from '../supergraph/reload.ts'
import { failureSentence, type LiveSet } from './live-set.ts'
import { failuresOf, pinText, type PinningEngine } from './pinned-operations.ts'

/** `serving` is the engine in use. */
export function checkPersisted(persisted: Pick<LiveSet, 'prepareWith'>, serving: PinningEngine): GraphCheck {
  return async (candidate: Engine) => {
    const { failures, commit } = await persisted.prepareWith(candidate)
    const lost = failures.filter(({ operation }) => failuresOf(operation, pinText(serving, operation)).length === 0)
    return { refusals: lost.map(failureSentence), commit }
  }
}
