/**
 * Cross-origin resource sharing: the web pages that may call the API from a browser. The headers are set on Node's response before the
 * request is routed, so that every answer has them: on the fast lane, on the routes, on errors and on event streams.
 *
 * The answer to an origin that is not listed has no CORS header, so the browser refuses it. "*" is answered as "*", and never with
 * credentials: the configuration refuses the two together.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type CorsOptions = { readonly origins: readonly string[]; readonly credentials: boolean }

/** Returns true if the request was a preflight. It is answered then. */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean

const HEADERS = [
  ...['authorization', 'content-type', 'x-on-behalf-of', 'x-viewer-id', 'x-viewer-scopes'],
  ...['graphql-client-name', 'graphql-client-version', 'apollographql-client-name', 'apollographql-client-version'],
  ...['x-client-name', 'apollo-require-preflight', 'traceparent', 'tracestate', 'last-event-id'],
].join(', ')
/** The time that a browser may remember a preflight. Chromium allows at most this. */
const MAX_AGE_SECONDS = '7200'

export function makeCors({ origins, credentials }: CorsOptions): Cors {
  const any = origins.includes('*')
  const listed = new Set(origins.map((origin) => origin.toLowerCase()))

  return function cors(request, response) {
    const { origin } = request.headers
    if (!any) response.setHeader('vary', 'Origin')
    const allowed = origin !== undefined && (any || listed.has(origin.toLowerCase()))
    if (allowed) {
      response.setHeader('access-control-allow-origin', any ? '*' : origin)
      if (credentials && !any) response.setHeader('access-control-allow-credentials', 'true')
      response.setHeader('access-control-expose-headers', 'retry-after')
    }
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
    if (allowed) {
      response.setHeader('access-control-allow-methods', 'GET, POST')
      response.setHeader('access-control-allow-headers', HEADERS)
      response.setHeader('access-control-max-age', MAX_AGE_SECONDS)
    }
    response.writeHead(204).end()
    return true
  }
}

/**
 * Decides whether a page of this origin may open a WebSocket. Browsers send no preflight for a WebSocket, and in development a header alone
 * names the viewer. Without this check, any page that a developer visits could read and write through the developer's machine. A request
 * without an origin does not come from a page. In production a token is needed, and a foreign page has none.
 */
export function makeOriginCheck(origins: readonly string[]): (origin: string | undefined, host: string | undefined) => boolean {
  const any = origins.includes('*')
  const listed = new Set(origins.map((origin) => origin.toLowerCase()))

  return function isAllowed(origin, host) {
    if (origin === undefined || any || listed.has(origin.toLowerCase())) return true
    if (!URL.canParse(origin)) return false
    const page = new URL(origin)
    if (LOCAL.test(page.hostname)) return true
    const own = `${page.protocol}//${host ?? ''}`
    return page.host !== '' && URL.canParse(own) && new URL(own).host === page.host
  }
}

const LOCAL = /^((.+\.)?localhost|127\.0\.0\.1|\[::1\])$/
