/**
 * Asks for schemas over HTTP: a subgraph for its SDL (`_service { sdl }`, which every federation subgraph answers), or any GraphQL
 * server for its API (introspection). Each mistake is one sentence. A call is bounded in time (`timeoutMs`) and size (`bytesMax`).
 */
import { buildClientSchema, getIntrospectionQuery, type GraphQLSchema, type IntrospectionQuery } from 'graphql'
import { configError } from './config-error.ts'

export type IntrospectOptions = {
  /** Milliseconds for the whole answer. */
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes an answer may have. Default 16 MB. */
  readonly bytesMax?: number
}

const BYTES_MAX = 16_777_216

/** Rejects with CONFIG_INVALID. `name` is for the messages. */
export async function fetchSubgraphSdl(name: string, url: string, options: IntrospectOptions): Promise<string> {
  const subject = `the subgraph "${name}" at ${url}`
  const { data, errors } = await ask(subject, url, '{ _service { sdl } }', options)
  const sdl = (data as { _service?: { sdl?: unknown } } | null | undefined)?._service?.sdl
  if (typeof sdl === 'string' && sdl !== '') return sdl
  throw configError(
    `${subject} is not a federation subgraph (${firstMessage(errors) ?? 'it has no _service { sdl }'}): ` +
      'serve it with a federation library, allow introspection, or give its schema as a file',
  )
}

/** Rejects with CONFIG_INVALID. */
export async function fetchApiSchema(url: string, options: IntrospectOptions): Promise<GraphQLSchema> {
  const subject = `the API at ${url}`
  const { data, errors } = await ask(subject, url, getIntrospectionQuery(), options)
  try {
    return buildClientSchema(data as IntrospectionQuery)
  } catch (cause) {
    throw configError(
      `${subject} does not answer introspection (${firstMessage(errors) ?? (cause as Error).message}): name a schema file instead`,
      cause,
    )
  }
}

async function ask(subject: string, url: string, query: string, options: IntrospectOptions): Promise<{ data?: unknown; errors?: unknown }> {
  const { text, status } = await send(subject, url, query, options)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw configError(`${subject} answers with HTTP ${status} but without JSON: check that this is the address of a GraphQL API`, cause)
  }
  if (typeof body === 'object' && body !== null && ('data' in body || 'errors' in body)) return body
  throw configError(
    `${subject} answers with HTTP ${status} and JSON that is not a GraphQL result: check that this is the address of a GraphQL API`,
  )
}

async function send(subject: string, url: string, query: string, options: IntrospectOptions): Promise<{ text: string; status: number }> {
  const { timeoutMs, headers = {}, bytesMax = BYTES_MAX } = options
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { text: await readBody(response, bytesMax), status: response.status }
  } catch (cause) {
    throw configError(`${subject} cannot be reached (${reasonOf(cause, timeoutMs)}): start it, or correct its address`, cause)
  }
}

async function readBody(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    // Leaving the loop cancels the rest.
    if (bytes > bytesMax) throw new Error(`its answer has more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(cause: unknown, timeoutMs: number): string {
  const { name, message, cause: below } = cause as Error
  if (name === 'TimeoutError') return `no answer in ${timeoutMs} ms`
  const { code, message: reason } = (below ?? {}) as { code?: unknown; message?: string }
  return typeof code === 'string' ? code : (reason ?? message)
}

function firstMessage(errors: unknown): string | undefined {
  const message = Array.isArray(errors) ? (errors[0] as { message?: unknown } | undefined)?.message : undefined
  return typeof message === 'string' ? message : undefined
}
