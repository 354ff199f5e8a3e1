/** Calls of the public API from a page: operations by `fetch`, subscriptions by one WebSocket. */
import { createClient } from 'graphql-ws'

/** In development, `viewer` is enough. In production, the server needs a token. */
export type Identity = { viewer?: string; scopes?: string; token?: string }

export type Answer<T> = {
  data: T | null
  errors: readonly { message: string; path?: readonly (string | number)[]; extensions?: { code?: string } }[]
  /** Stores that were not available for the answer. */
  degraded: readonly string[]
}

/** A call without an answer. `code`: of the error, or `OFFLINE` if the server cannot be reached. */
export class CallFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const ENDPOINT = '/graphql'

/** The headers that name the caller. */
export function headersOf({ viewer, scopes, token }: Identity): Record<string, string> {
  const headers: Record<string, string> = {}
  if (token !== undefined && token !== '') headers['authorization'] = `Bearer ${token}`
  else if (viewer !== undefined) headers['x-viewer-id'] = viewer
  if (token === undefined && scopes !== undefined) headers['x-viewer-scopes'] = scopes
  return headers
}

/** Rejects with `CallFailed` if the server cannot be reached or refuses the whole request. Errors of fields are in the answer. */
export async function call<T>(identity: Identity, query: string, variables: object = {}): Promise<Answer<T>> {
  const response = await post(identity, query, variables)
  const body = (await response.json().catch(() => ({}))) as Partial<Answer<T>> & { extensions?: { degraded?: string[] } }
  if (!response.ok || body.data === undefined) throw failureOf(body, response.status)
  return { data: body.data, errors: body.errors ?? [], degraded: body.extensions?.degraded ?? [] }
}

/** The JSON at a path of this server that is not the API. Rejects as `call` does. */
export async function read<T>(identity: Identity, path: string): Promise<T> {
  const response = await answerOf(path, { headers: { ...headersOf(identity), accept: 'application/json' } })
  const body = (await response.json().catch(() => ({}))) as T & Partial<Answer<never>>
  if (!response.ok) throw failureOf(body, response.status)
  return body
}

function post(identity: Identity, query: string, variables: object): Promise<Response> {
  return answerOf(ENDPOINT, {
    method: 'POST',
    headers: { ...headersOf(identity), 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
}

async function answerOf(path: string, request: RequestInit): Promise<Response> {
  const headers = possibleHeaders(request)
  try {
    return await fetch(path, { ...request, headers })
  } catch {
    throw new CallFailed('OFFLINE', 'The server cannot be reached. This page tries again.')
  }
}

/** A header has only characters of Latin-1. */
function possibleHeaders({ headers }: RequestInit): Headers {
  try {
    return new Headers(headers)
  } catch {
    throw new CallFailed('ID_INVALID', 'This viewer or token is not possible here, because a header cannot carry it: use ASCII characters.')
  }
}

function failureOf({ errors }: { errors?: Answer<never>['errors'] }, status: number): CallFailed {
  const [first] = errors ?? []
  return new CallFailed(first?.extensions?.code ?? 'INTERNAL', first?.message ?? `The server answered with status ${status}.`)
}

/** One WebSocket for all subscriptions of the page. It reconnects until it is closed, and then continues the subscriptions. */
export type Live = {
  /**
   * Returns a function that ends it. `variables` is read at each connection: a getter in it can name the last event that was received, so
   * that a new connection continues after it.
   */
  follow<T>(query: string, variables: Record<string, unknown>, onEvent: (answer: Answer<T>) => void): () => void
  close(): void
}

/** `onState`: undefined when a connection opens, otherwise the reason why there is none. */
export function connect({ viewer, token }: Identity, onState: (failure: CallFailed | undefined) => void): Live {
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}${ENDPOINT}`,
    connectionParams: token === undefined ? { viewerId: viewer } : { authorization: `Bearer ${token}` },
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (retries) => new Promise((resolve) => setTimeout(resolve, Math.min(WAIT_FIRST_MS * 2 ** retries, WAIT_MAX_MS))),
    shouldRetry: (event) => !needsIdentity(failureOfClose(event)),
    keepAlive: 10_000,
    on: { connected: () => onState(undefined) },
  })
  return {
    follow<T>(query: string, variables: Record<string, unknown>, onEvent: (answer: Answer<T>) => void) {
      return client.subscribe<T>(
        { query, variables },
        {
          next: ({ data, errors, extensions }) =>
            onEvent({
              data: data ?? null,
              errors: errors ?? [],
              degraded: (extensions as { degraded?: string[] } | undefined)?.degraded ?? [],
            }),
          error: (error) => onState(failureOfClose(error)),
          complete: () => undefined,
        },
      )
    },
    close: () => void client.dispose(),
  }
}

const WAIT_FIRST_MS = 500
const WAIT_MAX_MS = 10_000

const SENTENCES: Readonly<Record<string, string>> = {
  TOKEN_EXPIRED: 'The token has expired: paste a new one above.',
  UNAUTHENTICATED: 'This server needs a signed token: paste one above.',
  GRAPHQL_VALIDATION_FAILED:
    'This server does not have a part of the API that this page needs. The home feed needs a business of posts (feed.business).',
  PERSISTED_QUERY_NOT_IN_LIST:
    'This server accepts only registered operations (persisted.mode: enforce), and those of this page are not registered. Open the page on a server with persisted.mode off, apq or report.',
}

/** The sentence that a page shows for a failure. */
export function sentenceOf({ code, message }: CallFailed): string {
  return SENTENCES[code] ?? message
}

/** True if the call can succeed only with another token. */
export function needsIdentity({ code }: CallFailed): boolean {
  return code === 'UNAUTHENTICATED' || code === 'TOKEN_EXPIRED'
}

/** True if a repetition of the call cannot succeed. */
export function isRefusal(failure: CallFailed): boolean {
  return needsIdentity(failure) || ['PERSISTED_QUERY_NOT_IN_LIST', 'GRAPHQL_VALIDATION_FAILED', 'ID_INVALID'].includes(failure.code)
}

/** The server closes a socket with a reason such as `TOKEN_EXPIRED: …`. */
function failureOfClose(event: unknown): CallFailed {
  const [first] = Array.isArray(event) ? (event as Answer<never>['errors']) : []
  if (first !== undefined) return new CallFailed(first.extensions?.code ?? 'INTERNAL', first.message)
  const reason = typeof event === 'object' && event !== null && 'reason' in event ? String(event.reason) : ''
  const [, code, message] = /^([A-Z_]+): (.*)$/s.exec(reason) ?? []
  return new CallFailed(code ?? 'OFFLINE', message ?? 'The live connection ended. This page tries again.')
}
