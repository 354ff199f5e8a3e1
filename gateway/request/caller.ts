/** The caller of a request: viewer, client program and address. Limits and permissions depend on it. */
import { addressGroup } from './addresses.ts'
import type { TraceContext } from './tracing.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Credentials } from '../identity/identify.ts'

export type Caller = {
  readonly viewer: Viewer | undefined
  /** The name the client program gives itself; nobody checks it. */
  readonly client: string | undefined
  /** Where the request comes from, as far as proxies of ours vouch for it; see addresses.ts. */
  readonly address: string | undefined
  /** The client's headers that subgraphs get; absent if none are configured. */
  readonly forwarded?: Readonly<Record<string, string>>
  /** The trace the request belongs to; absent where nobody traces. */
  readonly trace?: TraceContext
  /** The client asked for the plan (`x-tidemark-plan`, in development). */
  readonly wantsPlan?: true
}

/** A limit's name for this caller: the viewer, or the service that acts for the viewer, or else the address. */
export function callerKey({ viewer, address }: Pick<Caller, 'viewer' | 'address'>): string {
  return viewer === undefined ? `address:${addressGroup(address ?? '')}` : `viewer:${viewer.actor ?? viewer.id}`
}

/** The first header that names it counts; over WebSocket `clientName` of the connection parameters. */
export const CLIENT_HEADERS = ['graphql-client-name', 'apollographql-client-name', 'x-client-name']
const CLIENT_NAMES = [...CLIENT_HEADERS, 'clientName']
const CLIENT_LENGTH_MAX = 64

/** The client's name out of HTTP headers (lower case) or connection parameters; undefined where none of use is given. */
export function clientOf(credentials: Credentials): string | undefined {
  const name = CLIENT_NAMES.map((key) => credentials[key]).find((value) => typeof value === 'string' && value !== '')
  return typeof name === 'string' && name.length <= CLIENT_LENGTH_MAX ? name : undefined
}

/** The named ones of these headers; nothing is ever forwarded that is not named. */
export function forwardedOf(headers: Credentials, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined
  const forwarded: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string') forwarded[name] = value
  }
  return forwarded
}
