/** The reasons for a failed call of a subgraph, and the error for clients. */
import { TidemarkError } from '../../core/errors.ts'

/**
 * The reasons:
 *
 *   unreachable  no connection, or it broke; the only reason for another try
 *   late         no whole answer in time
 *   too large    the answer exceeds its limit
 *   refused      the call itself is invalid
 *   down         the call was not made; see subgraph-client.ts
 */
export type CallFailureReason = 'unreachable' | 'late' | 'too large' | 'refused' | 'down'

export class CallFailure extends Error {
  readonly reason: CallFailureReason
  constructor(reason: CallFailureReason, options?: { cause?: unknown }) {
    super(reason, options)
    this.reason = reason
  }
}

/** The limits in the messages. */
export type CallLimits = { readonly name: string; readonly timeoutMs: number; readonly bodyBytesMax: number; readonly checkEveryMs: number }

export function failureError(thrown: unknown, limits: CallLimits): TidemarkError {
  if (thrown instanceof TidemarkError) return thrown
  const failure = thrown instanceof CallFailure ? thrown : new CallFailure('unreachable', { cause: thrown })
  return new TidemarkError('SUBGRAPH_UNAVAILABLE', `the subgraph "${limits.name}" ${sentence(failure, limits)}`, {
    cause: failure.cause ?? failure,
  })
}

function sentence({ reason }: CallFailure, { timeoutMs, bodyBytesMax, checkEveryMs }: CallLimits): string {
  switch (reason) {
    case 'down':
      return `is down and is checked every ${checkEveryMs} ms: try again`
    case 'late':
      return `did not answer within ${timeoutMs} ms: try again, or ask for less`
    case 'too large':
      return `sent more than ${bodyBytesMax} bytes: ask for less`
    case 'refused':
      return 'was not asked, because its request headers are not valid: correct them'
    case 'unreachable':
      return 'cannot be reached, or closed the connection: try again'
    default:
      return reason satisfies never
  }
}
