/**
 * The cache headers of an answer to a GET. A shared cache may keep it only if three conditions hold: every selected field allows it
 * (`@cacheControl(scope: PUBLIC)`), nothing failed or was missing, and the request does not identify its caller. A viewer's data is
 * therefore never public, even if a schema claims it: an identified caller gets `private` at most.
 *
 * A hint `PUBLIC` speaks of anonymous callers. The same field may show an identified caller a write of a moment ago, such as a like in a count.
 * The caller's own browser must therefore ask again: `no-cache`.
 *
 * `vary` names every header that the answer may depend on, so that a cache never gives one caller's answer to another. It does not name
 * headers that are forwarded to subgraphs. With them, each cacheable answer is `no-cache`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_HEADERS, type Caller } from '../request/caller.ts'
import type { CachePolicy } from './cache-policy.ts'

const IDENTITY_HEADERS = ['authorization', 'cookie', 'x-viewer-id', 'x-viewer-scopes', 'x-on-behalf-of']
const VARY = ['accept', ...IDENTITY_HEADERS].join(', ')
const VARY_ON_CLIENT = `${VARY}, ${CLIENT_HEADERS.join(', ')}`

/** `policy` is undefined for an answer that must not be kept. */
export function cacheHeaders(
  policy: CachePolicy | undefined,
  headers: IncomingHttpHeaders,
  caller: Caller,
  varyOnClient: boolean,
): Readonly<Record<string, string>> {
  const vary = varyOnClient ? VARY_ON_CLIENT : VARY
  if (policy === undefined) return { 'cache-control': 'no-store', vary }
  // The configuration decides which headers go to subgraphs, and `vary` does not name them. A cache must therefore ask again for each
  // answer.
  const isForwarding = caller.forwarded !== undefined
  const isIdentified = caller.viewer !== undefined || IDENTITY_HEADERS.some((name) => headers[name] !== undefined)
  if (isForwarding || (policy.isPublic && isIdentified)) return { 'cache-control': 'private, no-cache', vary }
  return { 'cache-control': `${policy.isPublic ? 'public' : 'private'}, max-age=${policy.maxAge}`, vary }
}
