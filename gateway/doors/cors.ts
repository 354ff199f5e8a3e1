/**
 * Which web pages may call the API from a browser. Set right on Node's response before anything else looks at the request,
 * so that every road has the headers: the fast lane, the routes, errors and event streams.
 *
 * An origin that is not listed gets no header at all, and its browser refuses. "*" is answered as such, and never with
 * credentials; the configuration refuses the two together.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type CorsOptions = { readonly origins: readonly string[]; readonly credentials: boolean }

/** Returns whether it answered: a preflight. */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean

const HEADERS = [
  ...['authorization', 'content-type', 'x-on-behalf-of', 'x-viewer-id', 'x-viewer-scopes'],
  ...['graphql-client-name', 'graphql-client-version', 'apollographql-client-name', 'apollographql-client-version'],
  ...['x-client-name', 'apollo-require-preflight', 'traceparent', 'tracestate', 'last-event-id'],
].join(', ')
/** How long a browser may remember a preflight; the longest that Chromium does. */
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
 * May a page of this origin open a WebSocket? Browsers ask no preflight for one, and in development anybody is whoever he
 * claims to be: without this, any page that a developer visits could read and write through his own machine. Whoever
 * sends no origin is no page. In production a token is needed, which a foreign page has not got.
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
