/**
 * What caches may do with the answer to a GET. A shared cache gets it only if every selected field said so
 * (`@cacheControl(scope: PUBLIC)`), nothing failed or was missing, and the request came without anything that says who
 * asks. So a viewer's data is never public even where a schema claims it is: who is named gets `private` at most.
 *
 * `vary` names every header that the answer may depend on, so that a cache never gives one caller's to another.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_HEADERS, type Caller } from '../request/caller.ts'
import type { CachePolicy } from './cache-policy.ts'

const IDENTITY_HEADERS = ['authorization', 'cookie', 'x-viewer-id', 'x-viewer-scopes', 'x-on-behalf-of']
const VARY = ['accept', ...IDENTITY_HEADERS].join(', ')
const VARY_ON_CLIENT = `${VARY}, ${CLIENT_HEADERS.join(', ')}`

/** `policy` is undefined for whatever must not be kept. */
export function cacheHeaders(
  policy: CachePolicy | undefined,
  headers: IncomingHttpHeaders,
  caller: Caller,
  varyOnClient: boolean,
): Readonly<Record<string, string>> {
  const vary = varyOnClient ? VARY_ON_CLIENT : VARY
  if (policy === undefined) return { 'cache-control': 'no-store', vary }
  // Which headers go on to subgraphs is configured; a shared cache should not have to know.
  const isForwarding = caller.forwarded !== undefined
  const named = isForwarding || caller.viewer !== undefined || IDENTITY_HEADERS.some((name) => headers[name] !== undefined)
  return { 'cache-control': `${policy.isPublic && !named ? 'public' : 'private'}, max-age=${policy.maxAge}`, vary }
}
