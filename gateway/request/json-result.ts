/** The JSON of a result, and the HTTP status that goes with it. */
import type { ExecutionResult } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { statusOf } from './error-format.ts'

/**
 * A result as JSON, text or bytes. `executed` is false if the operation did not run: there are errors and no data. `complete` is true if
 * there are no errors and no store was missing.
 */
export type JsonResult = {
  readonly json: string | Buffer
  readonly executed: boolean
  readonly status: number
  readonly complete: boolean
  /** The request is refused for now: its operation must be compiled first, and the caller has used up its preparing limit. */
  readonly refused?: ExecutionResult['errors']
}

/** A result that comes as bytes is complete. */
export function jsonResultOf(result: ExecutionResult | Buffer): JsonResult {
  if (Buffer.isBuffer(result)) return { json: result, executed: true, status: 200, complete: true }
  const executed = 'data' in result
  const complete = executed && result.errors === undefined && result.extensions?.['degraded'] === undefined
  const refused = !executed && result.errors?.[0]?.extensions['code'] === ('RATE_LIMITED' satisfies ErrorCode) ? result.errors : undefined
  return {
    json: JSON.stringify(result),
    executed,
    status: executed ? 200 : statusOf(result.errors ?? []),
    complete,
    ...(refused && { refused }),
  }
}
