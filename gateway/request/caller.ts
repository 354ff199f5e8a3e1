/** The caller of a request: viewer, client program and address. Limits and permissions depend on it. */
import { addressGroup } from './addresses.ts'
import type { TraceContext } from './tracing.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Credentials } from '../identity/identify.ts'

export type Caller = {
  readonly viewer: Viewer | undefined
  /** The name of the client program. The client chooses it, and it is not verified. */
  readonly client: string | undefined
  /** The address of the client, as far as trusted proxies report it; see addresses.ts. */
  readonly address: string | undefined
  /** The client's headers that subgraphs get. Absent if none are configured. */
  readonly forwarded?: Readonly<Record<string, string>>
  /** The trace of the request. Absent without tracing. */
  readonly trace?: TraceContext
  /** The client asked for the plan (`x-tidemark-plan`, in development). */
  readonly wantsPlan?: true
}

/** The key of this caller in a limit: the service that acts for the viewer, or else the viewer, or else the address. */
export function callerKey({ viewer, address }: Pick<Caller, 'viewer' | 'address'>): string {
  return viewer === undefined ? `address:${addressGroup(address ?? '')}` : `viewer:${viewer.actor ?? viewer.id}`
}

/** The headers that may name the client program; the first one that is present counts. Over WebSocket it is the parameter `clientName`. */
export const CLIENT_HEADERS = ['graphql-client-name', 'apollographql-client-name', 'x-client-name']
const CLIENT_NAMES = [...CLIENT_HEADERS, 'clientName']
const CLIENT_LENGTH_MAX = 64

/** The client's name from HTTP headers (lower case) or connection parameters. Undefined if it is missing or too long. */
export function clientOf(credentials: Credentials): string | undefined {
  const name = CLIENT_NAMES.map((key) => credentials[key]).find((value) => typeof value === 'string' && value !== '')
  return typeof name === 'string' && name.length <= CLIENT_LENGTH_MAX ? name : undefined
}

/** The headers with these names. No other header is forwarded. */
export function forwardedOf(headers: Credentials, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined
  const forwarded: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') forwarded[name] = value
  }
  return forwarded
}
