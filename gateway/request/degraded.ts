/**
 * Names the stores that were unavailable for an answer, in `extensions.degraded`. Resolvers collect the names in the request's context. An
 * answer without such names is not changed.
 */
import type { ExecutionResult } from 'graphql'
import type { RequestContext } from '../operation/prepared-operation.ts'

/** Returns the same object if no store was missing, or if the operation did not run. */
export function withDegraded(result: ExecutionResult, { degraded }: RequestContext): ExecutionResult {
  if (degraded === undefined || degraded.size === 0 || !('data' in result)) return result
  return { ...result, extensions: { ...result.extensions, degraded: [...degraded] } }
}
