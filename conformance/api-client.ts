/** A small GraphQL client for commands that call a running service. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TidemarkError } from '../core/errors.ts'

export type ApiCredentials = { token?: string | undefined; viewer?: string | undefined; scopes?: readonly string[] | undefined }

type GraphQLAnswer<Data> = {
  data?: Data | null
  errors?: readonly { message: string; extensions?: { code?: string } }[]
  extensions?: { degraded?: readonly string[] }
}

/** How long an incomplete answer is asked for again. */
const WHOLE_WITHIN_MS = 30_000
const AGAIN_MIN_MS = 50
const AGAIN_MAX_MS = 2_000

/** The address of the API; `text` may omit the path. `flag`: the option that gave the address. Throws CONFIG_INVALID. */
export function apiUrl(text: string, flag?: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const sentence = `${flag === undefined ? '' : `${flag} `}"${text}" is not an address: write http://host:port`
    throw new TidemarkError('CONFIG_INVALID', sentence)
  }
  if (url.pathname === '/') url.pathname = '/graphql'
  return url.href
}

/** Runs one operation. Throws with the message of the first error. Throws SUBGRAPH_UNAVAILABLE if the service cannot be reached. */
export async function callApi<Data>(
  url: string,
  query: string,
  variables: Record<string, unknown>,
  credentials: ApiCredentials,
): Promise<Data> {
  return (await call<Data>(url, query, variables, credentials)).data
}

/** Same as `callApi`, but repeats the call until the answer is complete: a busy or failed store may recover soon. */
export async function callForWhole<Data>(
  url: string,
  query: string,
  variables: Record<string, unknown>,
  credentials: ApiCredentials,
): Promise<Data> {
  const begun = performance.now()
  for (let waitMs = AGAIN_MIN_MS; ; waitMs = Math.min(2 * waitMs, AGAIN_MAX_MS)) {
    const { data, degraded } = await call<Data>(url, query, variables, credentials)
    if (degraded.length === 0) return data
    if (performance.now() - begun > WHOLE_WITHIN_MS) {
      const missing = degraded.join(', ')
      throw new TidemarkError(
        'BAD_REQUEST',
        `${url} answers without ${missing} for ${WHOLE_WITHIN_MS / 1_000} s: see whether all stores run and keep up`,
      )
    }
    await sleep(waitMs)
  }
}

async function call<Data>(
  url: string,
  query: string,
  variables: Record<string, unknown>,
  credentials: ApiCredentials,
): Promise<{ data: Data; degraded: readonly string[] }> {
  const response = await send(url, { method: 'POST', headers: headersOf(credentials), body: JSON.stringify({ query, variables }) })
  const answer = (await response.json()) as GraphQLAnswer<Data>
  const error = answer.errors?.[0]
  if (error !== undefined)
    throw new TidemarkError('BAD_REQUEST', `${url} answered: ${error.message} (${error.extensions?.code ?? response.status})`)
  if (answer.data === null || answer.data === undefined)
    throw new TidemarkError('BAD_REQUEST', `${url} answered ${response.status} without data`)
  return { data: answer.data, degraded: answer.extensions?.degraded ?? [] }
}

function headersOf(credentials: ApiCredentials): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/graphql-response+json, application/json',
  }
  if (credentials.token !== undefined) headers['authorization'] = `Bearer ${credentials.token}`
  if (credentials.viewer !== undefined) headers['x-viewer-id'] = credentials.viewer
  if (credentials.scopes !== undefined) headers['x-viewer-scopes'] = credentials.scopes.join(' ')
  return headers
}

/** The values of `/metrics` by name. Values with different labels are added up. */
export async function readMetrics(graphqlUrl: string): Promise<Map<string, number>> {
  return parseMetrics(await (await send(new URL('/metrics', apiUrl(graphqlUrl)).href, {})).text())
}

/** `text`: the text format of Prometheus. */
export function parseMetrics(text: string): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [, name, value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/gm)) {
    sums.set(name as string, (sums.get(name as string) ?? 0) + Number(value))
  }
  return sums
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    throw new TidemarkError(
      'SUBGRAPH_UNAVAILABLE',
      `${url} does not answer: start the service with "npm start", or give its address with --url`,
      { cause: error },
    )
  }
}
