/**
 * Who asks. A viewer is the `sub` of a JSON Web Token in `Authorization: Bearer …`, or, in development only, whatever the
 * header `x-viewer-id` (over WebSocket: the connection parameter `viewerId`) claims.
 *
 * No credentials at all is an answer, not an error: introspection and public fields work without a viewer, and resolvers
 * that need one throw UNAUTHENTICATED themselves. Credentials that are wrong refuse the whole request.
 *
 * A token's `scope` says what else it allows; in development `x-viewer-scopes` claims it.
 *
 * The kind of the configured key pins the algorithm (RFC 8725, 3.1): a token never chooses how it is verified, so a
 * public key cannot be abused as an HMAC secret. Verified tokens are remembered until they expire, because a signature
 * costs more than the rest of a small request; only valid tokens are kept, so nobody can fill the memory from outside.
 */
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { errors, jwtVerify, type JWTVerifyOptions } from 'jose'
import { systemClock, type Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'
import { checkId } from '../core/keys.ts'
import type { Viewer as KnownViewer } from '../core/viewer.ts'

/** Undefined: nobody asks. */
export type Viewer = KnownViewer | undefined

/** The section `auth` of the configuration, with secrets as text. */
export type AuthOptions = {
  /** The key of HS256 tokens, at least 32 bytes. */
  readonly secret?: string | undefined
  /** A PEM public key: RSA for RS256, P-256 for ES256, Ed25519 for EdDSA. */
  readonly publicKey?: string | undefined
  /** The issuer every token must name. */
  readonly issuer?: string | undefined
  /** The audience every token must name. */
  readonly audience?: string | undefined
}

/** HTTP headers (lower case) or the payload of a WebSocket's `connection_init`. */
export type Credentials = Readonly<Record<string, unknown>>

/** Resolves to the viewer, or to undefined if the request names none. Rejects with UNAUTHENTICATED, TOKEN_EXPIRED or ID_INVALID. */
export type Identify = (credentials: Credentials) => Promise<Viewer>

export function makeIdentify(auth: AuthOptions, mode: Config['server']['mode'], clock: Clock = systemClock): Identify {
  const verify = makeVerify(auth, clock)
  return async function identify(credentials) {
    const claimed = credentials['x-viewer-id'] ?? credentials['viewerId'] ?? undefined
    const scopes = credentials['x-viewer-scopes'] ?? credentials['viewerScopes'] ?? undefined
    if ((claimed !== undefined || scopes !== undefined) && mode === 'production') {
      throw unauthenticated('x-viewer-id and x-viewer-scopes are for development: in production send "Authorization: Bearer" and a token')
    }
    const authorization = credentials['authorization'] ?? credentials['Authorization']
    if (authorization !== undefined && authorization !== null) return verify(bearerOf(authorization))
    return claimed === undefined ? undefined : viewerOf(claimed, scopes)
  }
}

/** True if these credentials say anything about the viewer. */
export function namesViewer(credentials: Credentials): boolean {
  return ['authorization', 'Authorization', 'x-viewer-id', 'viewerId'].some((name) => (credentials[name] ?? undefined) !== undefined)
}

function viewerOf(claimed: unknown, scopes: unknown): Viewer {
  if (typeof claimed !== 'string') throw unauthenticated(`viewerId is a ${typeof claimed}: send a string`)
  checkId(claimed, 'x-viewer-id')
  return { id: claimed, scopes: scopesOf(scopes) }
}

/** Parted by spaces, as RFC 8693, 4.2 has them. */
function scopesOf(scopes: unknown): readonly string[] {
  return typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : []
}

const BEARER = /^bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)$/i

function bearerOf(authorization: unknown): string {
  const token = typeof authorization === 'string' ? BEARER.exec(authorization.trim())?.[1] : undefined
  if (token === undefined) throw unauthenticated('authorization is not "Bearer" and a JSON Web Token: send "Authorization: Bearer <token>"')
  return token
}

/** Tokens one half of the memory holds. Longer tokens than this are verified each time. */
const REMEMBERED_MAX = 5_000
const REMEMBERED_LENGTH_MAX = 4_096

type Verified = { readonly viewer: Viewer; readonly expiresAt: number }

function makeVerify(auth: AuthOptions, clock: Clock): (token: string) => Promise<Viewer> {
  const trusted = readKey(auth)
  if (trusted === undefined) {
    return () =>
      Promise.reject(
        unauthenticated('this server verifies no tokens: set auth.secret (TIDEMARK_JWT_SECRET) or auth.publicKey, or send x-viewer-id'),
      )
  }
  const { key, algorithms } = trusted
  const remembered = makeMemory<Verified>(REMEMBERED_MAX)
  const options: JWTVerifyOptions = { algorithms, requiredClaims: ['exp', 'sub'] }
  if (auth.issuer !== undefined) options.issuer = auth.issuer
  if (auth.audience !== undefined) options.audience = auth.audience

  return async function verify(token) {
    const known = remembered.get(token)
    if (known !== undefined && clock.now() < known.expiresAt) return known.viewer
    const verified = await verifyNow(token)
    if (token.length <= REMEMBERED_LENGTH_MAX) remembered.set(token, verified)
    return verified.viewer
  }

  async function verifyNow(token: string): Promise<Verified> {
    const { payload } = await jwtVerify(token, key, { ...options, currentDate: new Date(clock.now()) }).catch((error: unknown) => {
      throw refusalOf(error)
    })
    const id = payload.sub
    if (typeof id !== 'string' || typeof payload.exp !== 'number')
      throw unauthenticated('the token has no subject: "sub" must be the id of the viewer')
    try {
      checkId(id, 'the subject of the token')
    } catch (error) {
      throw unauthenticated(error instanceof Error ? error.message : 'the subject of the token is not an id', error)
    }
    return { viewer: { id, scopes: scopesOf(payload['scope']) }, expiresAt: payload.exp * 1_000 }
  }
}

function refusalOf(error: unknown): TidemarkError {
  if (error instanceof errors.JWTExpired)
    return new TidemarkError('TOKEN_EXPIRED', 'the token has expired: sign in again and send the new one', { cause: error })
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthenticated(
      `the claim "${error.claim}" of the token is ${error.reason === 'missing' ? 'missing' : 'not what this server accepts'}: get a token made for this server`,
      error,
    )
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return unauthenticated('the token is signed with an algorithm this server does not accept: get a token made for this server', error)
  }
  return unauthenticated('the token is malformed or its signature is wrong: get a token made for this server', error)
}

function unauthenticated(message: string, cause?: unknown): TidemarkError {
  return new TidemarkError('UNAUTHENTICATED', message, { cause })
}

function readKey(auth: AuthOptions): { key: KeyObject; algorithms: string[] } | undefined {
  if (auth.secret !== undefined) {
    const bytes = Buffer.from(auth.secret, 'utf8')
    if (bytes.length < 32)
      throw new TidemarkError('CONFIG_INVALID', `auth.secret has ${bytes.length} bytes: HS256 needs at least 32 (RFC 7518, 3.2)`)
    return { key: createSecretKey(bytes), algorithms: ['HS256'] }
  }
  if (auth.publicKey === undefined) return undefined
  const key = readPublicKey(auth.publicKey)
  return { key, algorithms: algorithmsOf(key) }
}

function readPublicKey(pem: string): KeyObject {
  if (pem.includes('PRIVATE KEY'))
    throw new TidemarkError('CONFIG_INVALID', 'auth.publicKey is a private key: a server that only verifies must not have it')
  try {
    return createPublicKey(pem)
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', 'auth.publicKey is not a key in PEM form: it begins with -----BEGIN PUBLIC KEY-----', {
      cause: error,
    })
  }
}

function algorithmsOf(key: KeyObject): string[] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= 2_048) return ['RS256']
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return ['ES256']
  if (type === 'ed25519') return ['EdDSA', 'Ed25519']
  throw new TidemarkError('CONFIG_INVALID', `auth.publicKey is a key of type ${type}: use RSA of at least 2048 bits, P-256 or Ed25519`)
}

/** Two generations: what was not asked for while the young one filled up is forgotten. Nothing is moved on most hits. */
function makeMemory<T>(generationMax: number): { get(key: string): T | undefined; set(key: string, value: T): void } {
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  function set(key: string, value: T): void {
    if (young.size >= generationMax) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  function get(key: string): T | undefined {
    const value = young.get(key)
    if (value !== undefined) return value
    const older = old.get(key)
    if (older !== undefined) set(key, older)
    return older
  }
  return { get, set }
}
