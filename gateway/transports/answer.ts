/**
 * What a remote subgraph sent, as the result of a fetch. Its body is trusted in nothing: it must be JSON, an object, with
 * `data` that is an object or null, or with `errors` that say something. Types within `data` are the projection's business.
 *
 * The status decides nothing where the body is a GraphQL result: servers answer 400 or 503 with errors that have codes, and
 * those are worth more than the status. Where it is none, the status and the media type are all there is to tell.
 */
import { TidemarkError } from '../../core/errors.ts'
import type { RemoteErrors } from '../request/remote-error.ts'
import { isRecord } from '../execution/run.ts'
import { bodyText } from './http-call.ts'
import type { HttpAnswer } from './http-call.ts'
import type { FetchError, FetchResult } from './transport.ts'

/** Errors of one answer that are kept. Each is placed in the data on its own, and a subgraph may send a million. */
const ERRORS_MAX = 1_000

/** Throws SUBGRAPH_UNAVAILABLE if the answer is no GraphQL result. */
export function readAnswer(subgraph: string, { status, contentType, body }: HttpAnswer): FetchResult {
  const result = resultOf(subgraph, bodyText(body))
  if (result !== undefined) return result
  const type = /^[\w.+/-]{1,64}/.exec(contentType)?.[0] ?? 'no media type'
  throw new TidemarkError(
    'SUBGRAPH_UNAVAILABLE',
    `the subgraph "${subgraph}" answered with HTTP ${status} and ${type}, which is no GraphQL result: try again, and see its log if it stays so`,
  )
}

/** Undefined if the text is no GraphQL result. */
export function resultOf(subgraph: string, text: string): FetchResult | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(body)) return undefined
  const { data, errors } = body
  if (errors === undefined || errors === null) return isRecord(data) ? { data } : undefined
  if ((data !== undefined && data !== null && !isRecord(data)) || !Array.isArray(errors)) return undefined
  const kept: unknown[] = errors.slice(0, ERRORS_MAX)
  const remote: RemoteErrors = { subgraph, errors: kept, logId: undefined }
  const read = kept.flatMap((error) => errorOf(error, remote))
  // An empty list of errors is against the specification, and harmless beside data.
  if (read.length === 0) return isRecord(data) ? { data } : undefined
  return { data: data ?? null, errors: read }
}

/** Statuses with which a proxy says that the server behind it is not there. */
export const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

/** A subgraph that sends such a status with a GraphQL result is there. */
export function isProxyFailure(subgraph: string, { status, body }: HttpAnswer): boolean {
  return PROXY_STATUSES.has(status) && resultOf(subgraph, bodyText(body)) === undefined
}

/** Nothing of an error is passed on that the specification does not name; what is not as it says is left out. */
function errorOf(error: unknown, remote: RemoteErrors): FetchError[] {
  if (!isRecord(error) || typeof error['message'] !== 'string') return []
  const { message, path, extensions } = error
  const isPath = Array.isArray(path) && path.every((key) => typeof key === 'string' || typeof key === 'number')
  return [
    {
      message,
      ...(isPath ? { path } : {}),
      ...(isRecord(extensions) ? { extensions } : {}),
      remote,
    },
  ]
}
