/** Writes answers over HTTP, and makes the answers to requests that are refused before their operation runs. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { GraphQLError } from 'graphql'
import type { Response } from 'graphql-http'
import { ERRORS, TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { graphqlErrorOf, statusOf } from '../request/error-format.ts'
import type { OperationRequest } from '../request/operation-request.ts'
import { JSON_TYPE } from './accept.ts'

// Not imported: server.ts says why.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export type Answer = {
  readonly status: number
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** The operation is a subscription, which only a stream can answer. The answer is for clients that cannot read one. */
  readonly subscription?: OperationRequest
}

/** Limits of open connections and subscriptions. */
const LIMITS = ['CONNECTIONS_TOO_MANY', 'SUBSCRIPTIONS_TOO_MANY', 'CAPACITY_REACHED'] as const
/** Seconds for Retry-After after a refusal for open connections: connections last for minutes. */
export const RETRY_AFTER_SECONDS = 10

/** Nothing was executed. The status follows the media type, as the protocol asks. */
export function requestErrors(errors: readonly GraphQLError[], contentType: string): Answer {
  const retryAfterMs = errors[0]?.extensions['code'] === 'RATE_LIMITED' ? errors[0].extensions['retryAfterMs'] : undefined
  const limit = LIMITS.find((code) => errors[0]?.extensions['code'] === code)
  if (limit !== undefined) {
    const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) }
    return { status: ERRORS[limit].status, contentType, headers, body: JSON.stringify({ errors }) }
  }
  if (typeof retryAfterMs === 'number') {
    // Proxies and clients must see this status with either media type.
    const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }
    return { status: ERRORS.RATE_LIMITED.status, contentType, headers, body: JSON.stringify({ errors }) }
  }
  return { status: statusFor(contentType, statusOf(errors)), contentType, body: JSON.stringify({ errors }) }
}

/** Clients of `application/json` treat every status but 200 as a broken server. Only the newer media type has other statuses. */
export function statusFor(contentType: string, status: number): number {
  return contentType === JSON_TYPE ? 200 : status
}

/** The answer to a request that is refused before its GraphQL is read. Rethrows an error that is not a TidemarkError. */
export function refusal(error: unknown, contentType: string): Answer {
  if (!isTidemarkError(error)) throw error
  const { status } = ERRORS[error.code]
  const body = JSON.stringify({ errors: [graphqlErrorOf(error)] })
  const headers = STATUS_HEADERS[status]
  return headers === undefined ? { status, contentType, body } : { status, contentType, body, headers }
}

/** Headers that HTTP requires with a status. 415: the encodings that a body may have. */
const STATUS_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  415: { 'accept-encoding': 'identity' },
}

export function mutationByGet(contentType: string): Answer {
  const error = graphqlErrorOf(new TidemarkError('BAD_REQUEST', 'a GET request must not change anything: send mutations by POST'))
  return { status: 405, contentType, headers: { allow: 'POST' }, body: JSON.stringify({ errors: [error] }) }
}

/** The answer for a response of graphql-http. If the response has no body, the answer gets a sentence. */
export function answerOf([body, init]: Response): Answer {
  const { 'content-type': contentType = JSON_TYPE, ...headers } = init.headers ?? {}
  const text =
    body ??
    JSON.stringify({
      errors: [graphqlErrorOf(new TidemarkError('BAD_REQUEST', STATUS_SENTENCES[init.status] ?? 'the request is not GraphQL over HTTP'))],
    })
  return { status: init.status, contentType, headers, body: text }
}

const STATUS_SENTENCES: Readonly<Record<number, string>> = {
  405: 'this method is not GraphQL over HTTP: use POST, or GET for queries',
  406: 'no media type of the accept header can be served: accept application/graphql-response+json or application/json',
  415: 'the body is not JSON in UTF-8: send content-type: application/json',
}

const SENTENCES: Readonly<Record<string, string>> = {
  'Missing body': 'the body is empty: send a JSON object with "query"',
  'Unparsable JSON body': 'the body is not valid JSON: send a JSON object with "query"',
  'JSON body must be an object': 'the body is not a JSON object: send {"query": "…", "variables": {…}}',
  'Unparsable URL': '"variables" or "extensions" of the URL is not valid JSON: send JSON objects, percent-encoded',
  'Missing query': '"query" is missing: send the text of the operation, or its id as "documentId"',
  'Invalid query': '"query" is not a string: send the text of the operation',
  'Invalid variables': '"variables" is not an object: send a JSON object, or leave it out',
  'Invalid operationName': '"operationName" is not a string: send the name of an operation of the document, or leave it out',
  'Invalid extensions': '"extensions" is not an object: send a JSON object, or leave it out',
}

/** A message of graphql-http about parameters, with advice. */
export function sentenceOf(message: string): string {
  return SENTENCES[message] ?? `the request is not GraphQL over HTTP: ${message}`
}

/** The response may have a `vary` header already; see cors.ts. */
function headersOf(response: ServerResponse, { headers }: Answer): Answer['headers'] {
  const present = response.getHeader('vary')
  return present === undefined || headers?.['vary'] === undefined ? headers : { ...headers, vary: `${String(present)}, ${headers['vary']}` }
}

export const NOT_STORED = Object.freeze({ 'cache-control': 'no-store' })

export function writeAnswer(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return
  const bytes = Buffer.byteLength(answer.body)
  response.writeHead(answer.status, {
    'content-type': answer.contentType,
    'content-length': bytes,
    // Without `no-store`, caches may keep a 404 or a 405 for any time.
    ...(answer.status === 200 ? undefined : NOT_STORED),
    ...headersOf(response, answer),
  })
  // If the text has as many bytes as characters, it is ASCII. `latin1` then writes the same bytes without a conversion.
  response.end(answer.body, bytes === answer.body.length ? 'latin1' : 'utf8')
}

/**
 * Answers on a bare socket and closes both sides. The client may never close its side, and no timeout of HTTP applies to a connection that
 * was upgraded.
 */
export function endWith(duplex: Duplex, { status, contentType, headers, body }: Answer): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  duplex.end(`${head.join('\r\n')}\r\n\r\n${body.toString()}`, () => duplex.destroy())
}
