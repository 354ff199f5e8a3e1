/**
 * GraphQL over HTTP. `graphql-http` reads the media types and the parameters of a request, and reports the mistakes in them. `answer` below
 * runs the operation.
 *
 * The main case is a POST of plain JSON in which every parameter has the right type. It is read here, which saves one of the five
 * microseconds that the front takes. Every other request goes to `graphql-http`, so mistakes are reported in one place. Both ways end in
 * `answer`.
 *
 * No extra header is needed against cross-site request forgery, with or without CORS:
 *
 * - A page can send some requests to a foreign site without a preflight. Such a request changes no data. A POST must have the type
 *   `application/json`, even without a body and even at /graphql/p/:id; forms and plain text are refused. A GET request, also of an event
 *   stream, runs no mutation.
 * - Such a request can register or record an operation. Their number is bounded, and they contain only a text.
 * - A page cannot read answers without CORS headers. If origins are configured, only these are trusted.
 * - The viewer is named by a header that no browser adds by itself. There are no cookies.
 *
 * A required header on GET requests would add nothing, and would break links, CDNs and the protocol's audits.
 */
import { createHandler } from 'graphql-http'
import { cacheHeaders } from '../cache/cache-headers.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { JSON_TYPE, negotiate, type ContentType } from './accept.ts'
import { answerOf, mutationByGet, requestErrors, sentenceOf, statusFor, type Answer } from './answers.ts'
import type { Caller } from '../request/caller.ts'
import { graphqlErrorOf } from '../request/error-format.ts'
import type { Front } from '../request/front.ts'
import { subscriptionRefused } from '../request/refusal.ts'
import { isPromise } from '../execution/run.ts'
import { hasId, idOf, isMap, parseMap, readParameters, type HttpRequest, type Parameters } from './parameters.ts'
import type { OperationRequest } from '../request/operation-request.ts'

export type HttpOptions = {
  /** Reads plain POSTs without graphql-http. Default true. False only serves to compare the two ways. */
  readonly direct?: boolean
}

/** Values that graphql-http passes through. */
type Context = { readonly caller: Caller; subscription?: OperationRequest; documentId?: string }

/** `contentType`: as negotiated. */
export type Http = (request: HttpRequest, caller: Caller, contentType: ContentType) => Promise<Answer>

export function makeHttp(front: Front, options: HttpOptions = {}): Http {
  const { direct = true } = options
  const handle = createHandler<HttpRequest, Context>({
    async parseRequestParams(request) {
      const params = await readParameters(request.raw)
      if ('query' in params && params.documentId !== undefined) request.context.documentId = params.documentId
      return params
    },
    formatError: (error) =>
      isTidemarkError(error) ? graphqlErrorOf(error) : graphqlErrorOf(new TidemarkError('BAD_REQUEST', sentenceOf(error.message))),
    async onSubscribe(request, params) {
      const { headers } = request.raw
      const contentType = negotiate(headers.accept).contentType ?? JSON_TYPE
      const operation = operationOf({ ...params, documentId: request.context.documentId })
      const given = await answer(front, request.raw, operation, contentType, request.context.caller)
      if (given.subscription) request.context.subscription = given.subscription
      return [
        given.body.toString(),
        { status: given.status, statusText: '', headers: { ...given.headers, 'content-type': given.contentType } },
      ]
    },
  })

  return function http(request, caller, contentType) {
    const isPlain = direct && request.pathId === undefined && request.method === 'POST' && isPlainJson(request.headers['content-type'])
    const operation = isPlain ? plainOperation(request.body) : undefined
    return operation === undefined ? answerByLibrary(request, caller, contentType) : answer(front, request, operation, contentType, caller)
  }

  async function answerByLibrary(request: HttpRequest, caller: Caller, contentType: ContentType): Promise<Answer> {
    const given = await answerOfLibrary(request, caller, contentType)
    // Without `no-store`, caches may keep a 200 or a 405 as long as they like.
    return request.method === 'GET' && given.headers?.['cache-control'] === undefined
      ? { ...given, headers: { ...given.headers, 'cache-control': 'no-store' } }
      : given
  }

  async function answerOfLibrary(request: HttpRequest, caller: Caller, contentType: ContentType): Promise<Answer> {
    const context: Context = { caller }
    const response = await handle({
      method: request.method,
      url: request.url,
      // The content type was negotiated above: graphql-http ignores weights.
      headers: { ...request.headers, accept: contentType },
      body: request.body,
      raw: request,
      context,
    })
    return context.subscription === undefined ? answerOf(response) : { ...answerOf(response), subscription: context.subscription }
  }
}

async function answer(
  front: Front,
  request: HttpRequest,
  operation: OperationRequest,
  contentType: ContentType,
  caller: Caller,
): Promise<Answer> {
  const known = front.preparation.prepare(operation, caller)
  const prepared = isPromise(known) ? await known : known
  if ('errors' in prepared) return requestErrors(prepared.errors, contentType)
  if (prepared.kind === 'subscription') return { ...requestErrors([subscriptionRefused()], contentType), subscription: operation }
  if (prepared.kind === 'mutation' && request.method === 'GET') return mutationByGet(contentType)
  const admission = front.preparation.admit(prepared, operation, caller)
  const refused = admission === undefined ? undefined : await admission
  if (refused !== undefined) return requestErrors(refused.errors, contentType)
  const { json, executed, status, complete, refused: refusedLate } = await front.operationRuns.executeToJson(prepared, operation, caller)
  if (refusedLate !== undefined) return requestErrors(refusedLate, contentType)
  const given = { status: executed ? 200 : statusFor(contentType, status), contentType, body: json }
  if (request.method !== 'GET') return given
  return { ...given, headers: cacheHeaders(complete ? prepared.cache : undefined, request.headers, caller, front.varyOnClient()) }
}

function isPlainJson(contentType: string | undefined): boolean {
  return (
    contentType === 'application/json' ||
    contentType === 'application/json; charset=utf-8' ||
    contentType === 'application/json;charset=UTF-8'
  )
}

/** The parameters of a plain body. Undefined for any other body: graphql-http reads it and reports its mistakes. */
function plainOperation(body: string): OperationRequest | undefined {
  const data = parseMap(body)
  return data === undefined ? undefined : plainParameters(data)
}

function plainParameters(data: Record<string, unknown>): OperationRequest | undefined {
  const { query, operationName, variables, extensions, documentId, doc_id: relayId } = data
  const called = documentId !== undefined || relayId !== undefined
  if (typeof query !== 'string' && !((query === undefined || query === null) && hasId(data))) return undefined
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') return undefined
  if (variables !== undefined && variables !== null && !isMap(variables)) return undefined
  if (extensions !== undefined && extensions !== null && !isMap(extensions)) return undefined
  if (called && !isPlainId(documentId, relayId)) return undefined
  return {
    query: typeof query === 'string' ? query : undefined,
    operationName: operationName ?? undefined,
    variables: variables ?? undefined,
    extensions: extensions ?? undefined,
    documentId: called ? idOf(documentId, relayId) : undefined,
    cost: undefined,
  }
}

function isPlainId(documentId: unknown, relayId: unknown): boolean {
  return (relayId === undefined && typeof documentId === 'string') || (documentId === undefined && typeof relayId === 'string')
}

/** The operation in the parameters that graphql-http has read. */
export function operationOf({ query, operationName, variables, extensions, documentId }: Parameters): OperationRequest {
  return {
    query,
    operationName: operationName ?? undefined,
    variables: variables ?? undefined,
    extensions: extensions ?? undefined,
    documentId,
  }
}
