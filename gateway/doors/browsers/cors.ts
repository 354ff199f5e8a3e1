/**
 * Cross-origin resource sharing: the web pages that may call the API from a browser. The headers are set on Node's response before the
 * request is routed, so that every answer has them: on requests to the API, on the routes, on errors and on event streams.
 *
 * A preflight of another origin is refused with a sentence that names the setting. Other requests of that origin are answered without a
 * CORS header, so the browser hides the answer. They are not refused, because behind a proxy that changes the host, the API's own pages look
 * like pages of another origin.
 *
 * "*" is answered as "*", and never with credentials: the configuration refuses the two together.
 *
 * A page may send any header, unless the operator lists them. The list of origins protects the API. A fixed list of headers
 * would break front ends with libraries that add headers, such as for tracing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../../request/error-format.ts'
import { JSON_TYPE } from '../accept.ts'
import { refusal, writeAnswer } from '../answers.ts'
import { makeOriginCheck, originRefused, type Mode } from './origins.ts'

export type CorsOptions = {
  readonly origins: readonly string[]
  readonly credentials: boolean
  /** The request headers that pages may send. Absent: all. */
  readonly headers?: readonly string[] | undefined
}

/** Returns true if the request was a preflight and is answered. */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean

/** The time that a browser may remember a preflight. Chromium allows at most this. */
const MAX_AGE_SECONDS = '7200'
/** The maximum of refused origins in the log, so that pages cannot fill it. */
const LOGGED_MAX = 100

/** `options` absent: no origin is configured. */
export function makeCors(options: CorsOptions | undefined, mode: Mode, log: Pick<Log, 'warn'>): Cors {
  const { origins = [], credentials = false, headers } = options ?? {}
  const isAllowed = makeOriginCheck(origins, mode)
  const any = origins.includes('*')
  const varies = !any && (origins.length > 0 || mode === 'development')
  const logged = new Set<string>()

  return function cors(request, response) {
    const { origin, host, 'access-control-request-method': method, 'access-control-request-headers': asked } = request.headers
    if (varies) response.setHeader('vary', 'Origin')
    if (origin === undefined) return false
    const isPreflight = request.method === 'OPTIONS' && method !== undefined
    if (!isAllowed(origin, host)) {
      if (isPreflight) refuse(origin, response)
      return isPreflight
    }
    response.setHeader('access-control-allow-origin', any ? '*' : origin)
    if (credentials && !any) response.setHeader('access-control-allow-credentials', 'true')
    response.setHeader('access-control-expose-headers', 'retry-after, date')
    if (!isPreflight) return false
    response.setHeader('access-control-allow-methods', 'GET, POST')
    response.setHeader('access-control-allow-headers', (headers ?? namesIn(asked)).join(', '))
    response.setHeader('access-control-max-age', MAX_AGE_SECONDS)
    response.writeHead(204).end()
    return true
  }

  function refuse(origin: string, response: ServerResponse): void {
    const error = originRefused(origin)
    if (logged.size < LOGGED_MAX && !logged.has(origin)) {
      logged.add(origin)
      log.warn({ origin }, error.message)
    }
    writeAnswer(response, refusal(error, JSON_TYPE))
  }
}

const NAMES_MAX = 100
/** A token of HTTP. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The names of the headers that a preflight asks for. */
function namesIn(asked = ''): string[] {
  const names = asked.split(',').map((name) => name.trim())
  return names.filter((name) => NAME.test(name)).slice(0, NAMES_MAX)
}
