/**
 * The web pages that may use this process from a browser, by their origin. CORS and the upgrades to WebSockets share the rule.
 *
 * In development, pages of this machine and of the same host may use it too. A front end on another port of localhost then works without a
 * setting. A foreign page cannot claim such an origin, because hosts.ts refuses names that can be registered.
 */
import { TidemarkError } from '../../../core/errors.ts'
import type { Config } from '../../../config/config.ts'

export type Mode = Config['server']['mode']

/** A request without an origin does not come from a page. */
export type IsAllowedOrigin = (origin: string | undefined, host: string | undefined) => boolean

/** `origins` may be written in any case and with the default port. */
export function makeOriginCheck(origins: readonly string[], mode: Mode): IsAllowedOrigin {
  const any = origins.includes('*')
  const listed = new Set(origins.map((origin) => (URL.canParse(origin) ? new URL(origin).origin : origin)))

  return function isAllowed(origin, host) {
    if (origin === undefined || any || listed.has(origin.toLowerCase())) return true
    if (mode === 'production' || !URL.canParse(origin)) return false
    const page = new URL(origin)
    if (LOCAL.test(page.hostname)) return true
    const own = `${page.protocol}//${host ?? ''}`
    return page.host !== '' && URL.canParse(own) && new URL(own).host === page.host
  }
}

const LOCAL = /^((.+\.)?localhost|127\.0\.0\.1|\[::1\])$/

export function originRefused(origin: string): TidemarkError {
  const shown = origin.slice(0, 200)
  const sentence = /^https?:\/\//i.test(origin)
    ? `pages of ${shown} may not use this API: add ${shown} to server.cors.origins, or to TIDEMARK_CORS_ORIGINS`
    : `the origin "${shown}" belongs to a file or a sandboxed frame: serve the page over https, and add its origin to server.cors.origins, or to TIDEMARK_CORS_ORIGINS`
  return new TidemarkError('ORIGIN_FORBIDDEN', sentence)
}
