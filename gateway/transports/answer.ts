/**
 * Reads the answer of a remote subgraph. Its body is not trusted: it must be a JSON object, with `data` that is an object or null, or
 * with valid `errors`. The projection checks the types within `data`.
 *
 * A GraphQL result counts whatever the status is: servers send 400 or 503 with errors that have codes, and a code says more than the
 * status. For any other body the message has only the status and the media type.
 */
import { TidemarkError } from '../../core/errors.ts'
import type { RemoteErrors } from '../request/remote-error.ts'
import { escapeTree } from '../execution/escaped.ts'
import { isRecord } from '../execution/run.ts'
import type { ScanAnswer } from './answer-scanner.ts'
import { bodyBytes } from './http-call.ts'
import type { HttpAnswer } from './http-call.ts'
import type { FetchError, FetchResult } from './transport.ts'

/** Maximum number of errors that are kept from one answer. Each error is located in the data, and a subgraph may send a million. */
const ERRORS_MAX = 1_000

/** How a caller wants the data: as an ordinary tree, or as an escaped one (execution/escaped.ts). */
export type ReadAnswer = (subgraph: string, answer: HttpAnswer) => FetchResult

/** Throws SUBGRAPH_UNAVAILABLE if the answer is not a GraphQL result. */
export const readAnswer: ReadAnswer = (subgraph, answer) =>
  resultOf(subgraph, bodyBytes(answer.body).toString()) ?? refuse(subgraph, answer)

export function readEscaped(scan: ScanAnswer): ReadAnswer {
  return (subgraph, answer) => {
    const data = scan(answer.body)
    if (data !== undefined) return { data, isExact: true }
    const result = readAnswer(subgraph, answer)
    return { ...result, data: escapeTree(result.data) }
  }
}

function refuse(subgraph: string, { status, contentType }: HttpAnswer): never {
  const type = /^[\w.+/-]{1,64}/.exec(contentType)?.[0] ?? 'no media type'
  throw new TidemarkError(
    'SUBGRAPH_UNAVAILABLE',
    `the subgraph "${subgraph}" answered with HTTP ${status} and ${type}, which is not a GraphQL result: try again, and check its log if the error persists`,
  )
}

/** Undefined if the text is not a GraphQL result. */
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
  // The specification forbids an empty list of errors. Beside data it is harmless.
  if (read.length === 0) return isRecord(data) ? { data } : undefined
  return { data: data ?? null, errors: read }
}

/** Statuses of a proxy that cannot reach the server behind it. */
export const PROXY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

/** False if the body is a GraphQL result: then the subgraph itself sent the status. */
export function isProxyFailure(subgraph: string, { status, body }: HttpAnswer): boolean {
  return PROXY_STATUSES.has(status) && resultOf(subgraph, bodyBytes(body).toString()) === undefined
}

/** Keeps only the fields that the specification names, and only if they are valid. */
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
