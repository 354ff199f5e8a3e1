/** Who calls: the viewer, the program he uses, and where from. Limits and permissions go by it. */
import type { Credentials, Viewer } from './viewer.ts'

export type Caller = {
  readonly viewer: Viewer
  /** The name the client program gives itself; nobody checks it. */
  readonly client: string | undefined
  /** The address of the connection's other end. */
  readonly address: string | undefined
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
