/**
 * Tells the client which stores his answer had to do without: `extensions.degraded`, a list of names. Whoever answers
 * collects them in the request's context; with none the answer is left as it is, untouched.
 */
import type { ExecutionResult } from 'graphql'
import type { RequestContext } from '../operation/prepared-operation.ts'

/** The same object if nothing was missing, or nothing was executed. */
export function withDegraded(result: ExecutionResult, { degraded }: RequestContext): ExecutionResult {
  if (degraded === undefined || degraded.size === 0 || !('data' in result)) return result
  return { ...result, extensions: { ...result.extensions, degraded: [...degraded] } }
}
