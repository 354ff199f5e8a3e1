/**
 * GraphQL over HTTP: one request in, one answer out. `graphql-http` reads the request: media types, parameters, and
 * everything that can be wrong with either; what it hands over is answered by `answer` below.
 *
 * The main case, a POST of plain JSON in which every parameter has the right type, is read right here instead: it
 * spares one of the five microseconds that the front costs. Whatever is unusual in any way goes to `graphql-http`, so
 * there is one place that says what is wrong, and both ways end in the same `answer`.
 *
 * Why there is no extra header against cross-site request forgery: POST takes `application/json` only, which a foreign
 * page cannot send without a preflight that we do not answer; GET runs queries only, which change nothing, and without
 * CORS headers a foreign page cannot read the answer; and the viewer is named by a header that no browser adds by itself,
 * there are no cookies. Asking GET requests for a header on top would break links and the protocol's audits for nothing.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { GraphQLError } from 'graphql'
import { createHandler, type Response } from 'graphql-http'
import { ERRORS, TidemarkError, isTidemarkError } from '../core/errors.ts'
import { JSON_TYPE, negotiate, type ContentType } from './accept.ts'
import { graphqlErrorOf, statusOf } from './error-format.ts'
import { subscriptionRefused, type Front, type OperationRequest } from './front.ts'

export type HttpRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The body as text; empty if there is none. */
  readonly body: string
  /** The address of the other end. */
  readonly address: string | undefined
}

export type Answer = {
  readonly status: number
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** The operation is a subscription, which only a stream can answer; the answer says so to who cannot read one. */
  readonly subscription?: true
}

export type HttpOptions = {
  /** Read plain POSTs without graphql-http. Default true; off only to compare the two. */
  readonly direct?: boolean
}

export function makeHttp(front: Front, options: HttpOptions = {}): (request: HttpRequest) => Promise<Answer> {
  const { direct = true } = options
  const handle = createHandler<HttpRequest, { subscription?: true }>({
    parseRequestParams: (request) => refuseBatch(request.raw.body),
    formatError: (error) =>
      isTidemarkError(error) ? graphqlErrorOf(error) : graphqlErrorOf(new TidemarkError('BAD_REQUEST', sentenceOf(error.message))),
    async onSubscribe(request, params) {
      const { headers } = request.raw
      const contentType = negotiate(headers.accept).contentType ?? JSON_TYPE
      const operation = { query: params.query, operationName: params.operationName ?? undefined, variables: params.variables ?? undefined }
      const given = await answer(front, request.raw, operation, contentType)
      if (given.subscription) request.context.subscription = true
      return [given.body, { status: given.status, statusText: '', headers: { ...given.headers, 'content-type': given.contentType } }]
    },
  })

  return async function http(request) {
    if (direct && request.method === 'POST' && isPlainJson(request.headers['content-type'])) {
      const contentType = negotiate(request.headers.accept).contentType
      const operation = contentType === undefined ? undefined : plainOperation(request.body)
      if (contentType !== undefined && operation !== undefined) return answer(front, request, operation, contentType)
    }
    const context: { subscription?: true } = {}
    const response = await handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: request.body,
      raw: request,
      context,
    })
    return { ...answerOf(response), ...context }
  }
}

async function answer(front: Front, request: HttpRequest, operation: OperationRequest, contentType: ContentType): Promise<Answer> {
  let caller
  try {
    caller = await front.callerOf(request.headers, request.address)
  } catch (error) {
    return refusal(error, contentType)
  }
  const prepared = front.prepare(operation, caller)
  if ('errors' in prepared) return requestErrors(prepared.errors, contentType)
  if (prepared.kind === 'subscription') return { ...requestErrors([subscriptionRefused()], contentType), subscription: true }
  if (prepared.kind === 'mutation' && request.method === 'GET') return mutationByGet(contentType)
  const admission = front.admit(prepared, operation, caller)
  const refused = admission === undefined ? undefined : await admission
  if (refused !== undefined) return requestErrors(refused.errors, contentType)
  const { json, executed, status } = await front.executeToJson(prepared, operation, caller)
  return { status: executed ? 200 : statusFor(contentType, status), contentType, body: json }
}

/** Nothing was executed. The status follows the media type, as the protocol asks. */
export function requestErrors(errors: readonly GraphQLError[], contentType: ContentType): Answer {
  const retryAfterMs = errors[0]?.extensions['code'] === 'RATE_LIMITED' ? errors[0].extensions['retryAfterMs'] : undefined
  if (typeof retryAfterMs === 'number') {
    // What proxies and clients must see is the status, whatever the media type.
    const headers = { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }
    return { status: ERRORS.RATE_LIMITED.status, contentType, headers, body: JSON.stringify({ errors }) }
  }
  return { status: statusFor(contentType, statusOf(errors)), contentType, body: JSON.stringify({ errors }) }
}

/** Clients of `application/json` take another status than 200 for a broken server; the newer media type says it better. */
function statusFor(contentType: ContentType, status: number): number {
  return contentType === JSON_TYPE ? 200 : status
}

/** The request is refused before it is looked at as GraphQL. Rethrows what is not one of our errors. */
export function refusal(error: unknown, contentType: string): Answer {
  if (!isTidemarkError(error)) throw error
  const { status } = ERRORS[error.code]
  const body = JSON.stringify({ errors: [graphqlErrorOf(error)] })
  return status === 401 ? { status, contentType, body, headers: { 'www-authenticate': 'Bearer' } } : { status, contentType, body }
}

export function mutationByGet(contentType: string): Answer {
  const error = graphqlErrorOf(new TidemarkError('BAD_REQUEST', 'a GET request must not change anything: send mutations by POST'))
  return { status: 405, contentType, headers: { allow: 'POST' }, body: JSON.stringify({ errors: [error] }) }
}

/** An answer for what graphql-http made. Where it has no body, the client gets a sentence all the same. */
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
  'Missing query': '"query" is missing: send the text of the operation',
  'Invalid query': '"query" is not a string: send the text of the operation',
  'Invalid variables': '"variables" is not an object: send a JSON object, or leave it out',
  'Invalid operationName': '"operationName" is not a string: send the name of an operation of the document, or leave it out',
  'Invalid extensions': '"extensions" is not an object: send a JSON object, or leave it out',
}

/** What graphql-http says about parameters, with what to do about it. */
export function sentenceOf(message: string): string {
  return SENTENCES[message] ?? `the request is not GraphQL over HTTP: ${message}`
}

export function refuseBatch(body: string): void {
  if (/^\s*\[/.test(body)) throw new TidemarkError('BAD_REQUEST', 'the body is an array of operations: send one operation per request')
}

function isPlainJson(contentType: string | undefined): boolean {
  return (
    contentType === 'application/json' ||
    contentType === 'application/json; charset=utf-8' ||
    contentType === 'application/json;charset=UTF-8'
  )
}

/** The parameters of a body in which nothing is unusual; otherwise undefined, and graphql-http says what is wrong. */
function plainOperation(body: string): OperationRequest | undefined {
  let data: unknown
  try {
    data = JSON.parse(body)
  } catch {
    return undefined
  }
  if (!isMap(data)) return undefined
  const { query, operationName, variables, extensions } = data
  if (typeof query !== 'string') return undefined
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') return undefined
  if (variables !== undefined && variables !== null && !isMap(variables)) return undefined
  if (extensions !== undefined && extensions !== null && !isMap(extensions)) return undefined
  return { query, operationName: operationName ?? undefined, variables: variables ?? undefined }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
