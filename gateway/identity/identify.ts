/**
 * Identifies the viewer of a request. The viewer is the `sub` of a JSON Web Token in `Authorization: Bearer …`. In development, the header
 * `x-viewer-id` may name the viewer instead (over WebSocket: the connection parameter `viewerId`).
 *
 * A request without credentials is valid: introspection and public fields need no viewer, and resolvers that need one throw
 * UNAUTHENTICATED. A request with wrong credentials is refused as a whole.
 *
 * The token's `scope` lists its further permissions. In development, `x-viewer-scopes` lists them. A service acts for a viewer by naming
 * the viewer in `x-on-behalf-of` (`onBehalfOf`), which needs the scope `viewer:any`. The scopes stay those of the service, and `actor` is
 * the service. A token without the scope is refused and not ignored: otherwise a service that has lost its scope would silently write into
 * its own history.
 *
 * A subgraph behind a gateway also accepts the gateway's identity header (identity-header.ts).
 */
import { isUtf8 } from 'node:buffer'
import { systemClock, type Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'
import { SCOPE_VIEWER_ANY, type Viewer } from '../../core/viewer.ts'
import type { KeySetLog } from './key-set.ts'
import { readKeys, type KeyOptions } from './keys.ts'
import { makeVerify, scopesOf, unauthenticated, type TokenOptions, type Verify } from './tokens.ts'
import { IDENTITY_HEADER, makeIdentityVerify, type IdentityOptions } from './identity-header.ts'

/** The section `auth` of the configuration, with secrets as text. */
export type AuthOptions = KeyOptions & Omit<TokenOptions, 'typ' | 'readActor'> & { readonly identity?: IdentityOptions | undefined }

/** HTTP headers (lower case, ids as text: `withIdsAsText`) or the payload of a WebSocket's `connection_init`. */
export type Credentials = Readonly<Record<string, unknown>>

/**
 * Resolves to the viewer, or to undefined if the request names none. Rejects with UNAUTHENTICATED, TOKEN_EXPIRED, FORBIDDEN or ID_INVALID.
 */
export type Identify = (credentials: Credentials) => Promise<Viewer | undefined>

export type IdentifyOptions = {
  /** The name of the subgraph that accepts identity headers. Absent: they are not read, because clients of a gateway must not send them. */
  readonly subgraph?: string
  readonly log?: KeySetLog
}

export function makeIdentify(
  auth: AuthOptions,
  mode: Config['server']['mode'],
  clock: Clock = systemClock,
  options: IdentifyOptions = {},
): Identify {
  const keys = readKeys(auth, clock, options.log)
  const verify = keys === undefined ? verifyNothing : makeVerify(keys, auth, clock)
  const verifyIdentity = options.subgraph === undefined ? undefined : makeIdentityVerify(auth.identity, options.subgraph, clock)

  return async function identify(credentials) {
    const claimedBy = (credentials['x-viewer-id'] ?? undefined) === undefined ? 'viewerId' : 'x-viewer-id'
    const claimed = credentials[claimedBy] ?? undefined
    const scopes = credentials['x-viewer-scopes'] ?? credentials['viewerScopes'] ?? undefined
    const forDevelopment = mode === 'production' ? CLAIMS.find((name) => (credentials[name] ?? undefined) !== undefined) : undefined
    if (forDevelopment !== undefined)
      throw unauthenticated(`${forDevelopment} works in development only: in production send authorization: "Bearer <token>"`)
    const onBehalfOf = credentials['x-on-behalf-of'] ?? credentials['onBehalfOf'] ?? undefined
    const viewer = await viewerOf(credentials, claimed, claimedBy, scopes)
    return onBehalfOf === undefined ? viewer : representedBy(viewer, onBehalfOf)
  }

  async function viewerOf(credentials: Credentials, claimed: unknown, claimedBy: string, scopes: unknown): Promise<Viewer | undefined> {
    const vouched = verifyIdentity === undefined ? undefined : credentials[IDENTITY_HEADER]
    if (vouched !== undefined && verifyIdentity !== undefined) return verifyIdentity(tokenOf(vouched, IDENTITY_HEADER))
    const authorization = credentials['authorization'] ?? credentials['Authorization']
    if (authorization !== undefined && authorization !== null) return verify(bearerOf(authorization))
    return claimed === undefined ? undefined : claimedViewer(claimed, claimedBy, scopes)
  }
}

/** In production, only a token names a viewer. */
const CLAIMS = ['x-viewer-id', 'viewerId', 'x-viewer-scopes', 'viewerScopes']

const NAMING = ['authorization', 'Authorization', 'x-viewer-id', 'viewerId']

/** True if these credentials name a viewer. */
export function namesViewer(credentials: Credentials): boolean {
  return NAMING.some((name) => (credentials[name] ?? undefined) !== undefined)
}

const NAMED_BY_HEADER = ['x-viewer-id', 'x-on-behalf-of']

/**
 * Returns the headers with their ids as text. Node gives the bytes of a header as Latin-1, and joins repeated headers by a comma. Throws ID_INVALID if an id
 * is not UTF-8, or was sent twice.
 */
export function withIdsAsText(headers: Credentials): Credentials {
  let texts: Record<string, unknown> | undefined
  for (const name of NAMED_BY_HEADER) {
    const value = headers[name]
    if (typeof value !== 'string') continue
    const text = idOfHeader(value, name)
    if (text !== value) texts = { ...(texts ?? headers), [name]: text }
  }
  return texts ?? headers
}

function idOfHeader(value: string, name: string): string {
  if (value.includes(', '))
    throw new TidemarkError('ID_INVALID', `${name} has a comma and a space: send the header once, with an id that has no comma`)
  const bytes = Buffer.from(value, 'latin1')
  if (!isUtf8(bytes)) throw new TidemarkError('ID_INVALID', `${name} is not UTF-8: send the id in UTF-8`)
  return bytes.toString()
}

/**
 * Credentials of connection_init are used alone if they name a viewer. Headers that name a viewer would be ignored, so they are refused.
 */
export function credentialsOf(params: Credentials, headers: Credentials): Credentials {
  if (!namesViewer(params)) return { ...withIdsAsText(headers), ...params }
  const ignored = ['x-on-behalf-of', 'x-viewer-id'].find((name) => headers[name] !== undefined)
  if (ignored !== undefined)
    throw new TidemarkError(
      'BAD_REQUEST',
      `${ignored} is a header and the token is a parameter: send both in the parameters, or both as headers`,
    )
  return params
}

function claimedViewer(claimed: unknown, claimedBy: string, scopes: unknown): Viewer {
  if (typeof claimed !== 'string') throw unauthenticated(`${claimedBy} is a ${typeof claimed}: send a string`)
  checkId(claimed, claimedBy)
  return { id: claimed, scopes: scopesOf(scopes) }
}

function representedBy(service: Viewer | undefined, onBehalfOf: unknown): Viewer {
  if (service === undefined)
    throw unauthenticated('x-on-behalf-of needs a token of the service that acts: send "Authorization: Bearer <token>"')
  if (!service.scopes.includes(SCOPE_VIEWER_ANY))
    throw new TidemarkError('FORBIDDEN', `x-on-behalf-of needs the scope ${SCOPE_VIEWER_ANY}, which this token does not have`)
  if (typeof onBehalfOf !== 'string') throw unauthenticated(`onBehalfOf is a ${typeof onBehalfOf}: send the id of a viewer`)
  checkId(onBehalfOf, 'x-on-behalf-of')
  return { ...service, id: onBehalfOf, actor: service.id }
}

const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/
const BEARER = /^bearer +(\S+)$/i

function bearerOf(authorization: unknown): string {
  const token = typeof authorization === 'string' ? BEARER.exec(authorization.trim())?.[1] : undefined
  if (token === undefined || !JWT.test(token))
    throw unauthenticated('authorization is not "Bearer" with a JSON Web Token: send "Authorization: Bearer <token>"')
  return token
}

function tokenOf(value: unknown, name: string): string {
  if (typeof value === 'string' && JWT.test(value)) return value
  throw unauthenticated(`${name} is not a JSON Web Token: only a gateway sends it`)
}

const verifyNothing: Verify = () =>
  Promise.reject(unauthenticated('this server has no key for tokens: set TIDEMARK_JWT_SECRET or auth.jwksUrl, or send no token'))
