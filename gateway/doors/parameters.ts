/**
 * The parameters of a request over HTTP. `graphql-http` reports every mistake in them, but it does not know calls by id. A request may name
 * its operation by `documentId` (the draft of GraphQL over HTTP), `doc_id` (Relay), the path /graphql/p/:id or `extensions.persistedQuery`
 * (Apollo). Ids are therefore read first, and a request with an id is passed to the library with an empty text. The operation of an id is
 * found later, in one place for HTTP, event streams and WebSockets. http.ts reads the main case itself.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { parseRequestParams, type RequestParams, type Response } from 'graphql-http'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { plainContentType } from './accept.ts'
import type { OperationRequest } from '../request/operation-request.ts'

/** Each operation of a manifest has its own path, so that a CDN can distinguish them. */
export const OPERATION_PATH = '/graphql/p/'

export type HttpRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The body as text; empty if there is none. */
  readonly body: string
  /** The address of the other end. */
  readonly address: string | undefined
  /** The id of the path /graphql/p/:id. The body of a POST is the variables then. */
  readonly pathId?: string | undefined
}

export type Parameters = RequestParams & { readonly documentId?: string | undefined }

/** Throws BAD_REQUEST and the errors of graphql-http. Returns a Response if the request is not GraphQL over HTTP. */
export async function readParameters(request: HttpRequest): Promise<Parameters | Response> {
  if (request.pathId === undefined) refuseBatch(request.body)
  const id = request.method === 'GET' ? idOfUrl(request) : request.method === 'POST' ? idOfBody(request) : undefined
  const params = await parseRequestParams({
    method: request.method,
    url: id?.url ?? request.url,
    headers: { ...request.headers, 'content-type': plainContentType(request.headers['content-type']) },
    body: id?.body ?? request.body,
    raw: request,
    context: undefined,
  })
  return 'query' in params ? { ...params, documentId: id?.documentId } : params
}

/** Searched before parsing, because most bodies and messages have no id. */
const ID_KEYS = /"(?:documentId|doc_id|persistedQuery)"/

/** `documentId` may be undefined if the id is in the extensions. */
type Called = { readonly documentId: string | undefined; readonly url?: string; readonly body?: () => Promise<Record<string, unknown>> }

function idOfUrl({ url, pathId }: HttpRequest): Called | undefined {
  const [, search = ''] = url.split('?')
  refuseMalformed(search)
  const params = new URLSearchParams(search)
  const documentId = pathId ?? idOf(params.get('documentId') ?? undefined, params.get('doc_id') ?? undefined)
  if (documentId === undefined && !(params.get('extensions') ?? '').includes('persistedQuery')) return undefined
  if (pathId !== undefined && params.has('query')) throw bad('the path names the operation: leave "query" out')
  return { documentId, url: params.has('query') ? url : `${url}${url.includes('?') ? '&' : '?'}query=` }
}

/** A body that is not a JSON object is left to graphql-http, which reports it. */
function idOfBody({ body, url, pathId }: HttpRequest): Called | undefined {
  if (pathId !== undefined) {
    const [, search = ''] = url.split('?')
    refuseMalformed(search)
    const variables = body.trim() === '' ? undefined : parseMap(body)
    if (body.trim() !== '' && variables === undefined) throw bad('the body is not a JSON object: send the variables, or nothing')
    const operationName = new URLSearchParams(search).get('operationName') ?? undefined
    return { documentId: pathId, body: async () => ({ query: '', operationName, variables }) }
  }
  const data = ID_KEYS.test(body) ? parseMap(body) : undefined
  if (data === undefined || !hasId(data)) return undefined
  const { query, documentId, doc_id: relayId } = data
  return { documentId: idOf(documentId, relayId), body: async () => ({ ...data, query: query ?? '' }) }
}

/**
 * The parameters of a message over WebSocket. `graphql-ws` has checked their types, but it does not know ids. Returns BAD_REQUEST if an id
 * is wrong.
 */
export function operationOfMessage(payload: object): OperationRequest | TidemarkError {
  const { query, operationName, variables, extensions, documentId, doc_id: relayId } = payload as Record<string, unknown>
  try {
    return {
      query: typeof query === 'string' ? query : undefined,
      operationName: typeof operationName === 'string' ? operationName : undefined,
      variables: isMap(variables) ? variables : undefined,
      extensions: isMap(extensions) ? extensions : undefined,
      documentId: idOf(documentId, relayId),
    }
  } catch (error) {
    if (isTidemarkError(error)) return error
    throw error
  }
}

/**
 * Adds an empty text to a message that has an id and no text: `graphql-ws` closes the socket on messages without a text. A message that is
 * nested too deeply to write becomes an empty text. That is no message of the protocol, so the socket is closed.
 */
export function withText(message: string): string {
  if (!ID_KEYS.test(message)) return message
  const data = parseMap(message)
  const payload = data?.['payload']
  if (!isMap(payload) || data?.['type'] !== 'subscribe' || (payload['query'] ?? undefined) !== undefined || !hasId(payload)) return message
  try {
    return JSON.stringify({ ...data, payload: { ...payload, query: '' } })
  } catch {
    return ''
  }
}

export function hasId({ documentId, doc_id: relayId, extensions }: Record<string, unknown>): boolean {
  if ((documentId ?? relayId ?? undefined) !== undefined) return true
  return isMap(extensions) && (extensions['persistedQuery'] ?? undefined) !== undefined
}

export function idOf(documentId: unknown, relayId: unknown): string | undefined {
  const id = documentId ?? relayId ?? undefined
  if (id === undefined) return undefined
  if (typeof id !== 'string') throw bad('"documentId" is not a string: send the id of an operation')
  if ((relayId ?? id) !== id) throw bad('"documentId" and "doc_id" differ: send one of them')
  return id
}

function refuseBatch(body: string): void {
  if (/^\s*\[/.test(body)) throw bad('the body is an array of operations: send one operation per request')
}

/** URLSearchParams would replace bytes that are not UTF-8 by U+FFFD. */
function refuseMalformed(search: string): void {
  try {
    decodeURIComponent(search)
  } catch {
    throw bad('the URL is not percent-encoded UTF-8: encode its parameters by encodeURIComponent')
  }
}

export function parseMap(text: string): Record<string, unknown> | undefined {
  try {
    const data: unknown = JSON.parse(text)
    return isMap(data) ? data : undefined
  } catch {
    return undefined
  }
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(message: string): TidemarkError {
  return new TidemarkError('BAD_REQUEST', message)
}
