/** The JSON of a result, and the HTTP status that goes with it. */
import type { ExecutionResult } from 'graphql'
import type { ErrorCode } from '../../core/errors.ts'
import { statusOf } from './error-format.ts'

/**
 * A result as JSON, text or bytes. `executed` is false if it has errors and no data: nothing ran. `complete`: no errors,
 * and no store was missing.
 */
export type JsonResult = {
  readonly json: string | Buffer
  readonly executed: boolean
  readonly status: number
  readonly complete: boolean
  /** The request was refused for now: its operation needs compiling first, and the caller has used up its compiling allowance. */
  readonly refused?: ExecutionResult['errors']
}

/** Bytes are passed on as they are: what they say is complete. */
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
