/**
 * The host names that a process in development answers. In development the header alone names the viewer, so a web page must not reach the
 * process. The browser's same-origin rules stop a foreign page, unless the page's own host name later resolves to 127.0.0.1 (DNS
 * rebinding). The Host header has the foreign name even then.
 *
 * Names that cannot be registered are allowed: addresses, localhost, names without a dot (of containers), and *.internal.
 */
import { isIP } from 'node:net'
import { TidemarkError } from '../../../core/errors.ts'

export type IsKnownHost = (host: string | undefined) => boolean

/** `names`: further names, in any case. */
export function makeHostCheck(names: readonly string[]): IsKnownHost {
  const listed = new Set(names.map((name) => name.toLowerCase()))
  return function isKnownHost(host) {
    // Every browser sends a Host header.
    if (host === undefined) return true
    const name = nameOf(host)
    return PRIVATE_NAME.test(name) || isIP(name) !== 0 || listed.has(name)
  }
}

const PRIVATE_NAME = /^([^.]+|(.+\.)?(localhost|internal))\.?$/

function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
}

export function hostRefused(host = ''): TidemarkError {
  const shown = host.slice(0, 100)
  return new TidemarkError(
    'FORBIDDEN',
    `in development the host "${shown}" is not answered: use localhost or an address, or add the name to server.hosts`,
  )
}
