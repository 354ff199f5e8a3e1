/**
 * Verifies tokens and reads the viewer from them. Verified tokens are remembered until they expire, because verifying a signature costs
 * more than the rest of a small request. Only valid tokens are remembered, so a client cannot fill the memory with invented ones.
 */
import { errors, jwtVerify, type JWTVerifyOptions } from 'jose'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { checkId } from '../../core/keys.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { TrustedKeys } from './keys.ts'
import { makeMemory } from './memory.ts'

export type TokenOptions = {
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
  /** Seconds the clocks of issuer and server may differ. Default 0. */
  readonly clockToleranceSeconds?: number | undefined
  /** The `typ` that a token must have, if one kind of token must not be accepted as another. */
  readonly typ?: string | undefined
  /** Reads the service that acts for the subject (`act`, RFC 8693, 4.1). Only the identity header of a gateway may name it. */
  readonly readActor?: boolean
}

/** Rejects with UNAUTHENTICATED, TOKEN_EXPIRED or IDENTITY_UNAVAILABLE. */
export type Verify = (token: string) => Promise<Viewer>

/** Tokens in one generation of the memory. */
const REMEMBERED_MAX = 5_000
/** Longer tokens are verified each time. */
const REMEMBERED_LENGTH_MAX = 4_096

type Remembered = { readonly viewer: Viewer; readonly until: number }

export function makeVerify({ key, algorithms, believeMaxMs }: TrustedKeys, tokens: TokenOptions, clock: Clock): Verify {
  const remembered = makeMemory<Remembered>(REMEMBERED_MAX)
  const { issuer, audience, typ, readActor = false, clockToleranceSeconds = 0 } = tokens
  const options: JWTVerifyOptions = { algorithms, requiredClaims: ['exp', 'sub'], clockTolerance: clockToleranceSeconds }
  if (issuer !== undefined) options.issuer = issuer
  if (audience !== undefined) options.audience = audience
  if (typ !== undefined) options.typ = typ

  return async function verify(token) {
    const now = clock.now()
    const known = remembered.get(token)
    if (known !== undefined && now < known.until) return known.viewer
    const viewer = await verifyNow(token, now)
    if (token.length <= REMEMBERED_LENGTH_MAX) remembered.set(token, { viewer, until: Math.min(viewer.expiresAt ?? 0, now + believeMaxMs) })
    return viewer
  }

  async function verifyNow(token: string, now: number): Promise<Viewer> {
    const pending = typeof key === 'function' ? jwtVerify(token, key, withDate(now)) : jwtVerify(token, key, withDate(now))
    const { payload } = await pending.catch((error: unknown) => {
      throw refusalOf(error)
    })
    const id = payload.sub
    if (typeof id !== 'string' || typeof payload.exp !== 'number')
      throw unauthenticated('the token has no string as its subject: "sub" must be the id of the viewer, as a string')
    try {
      checkId(id, 'the subject of the token')
    } catch (error) {
      throw unauthenticated(error instanceof Error ? error.message : 'the subject of the token is not an id', error)
    }
    const viewer = { id, scopes: scopesOf(payload['scope']), expiresAt: (payload.exp + clockToleranceSeconds) * 1_000 }
    const actor = readActor ? actorOf(payload['act']) : undefined
    return actor === undefined ? viewer : { ...viewer, actor }
  }

  function withDate(now: number): JWTVerifyOptions {
    return { ...options, currentDate: new Date(now) }
  }
}

function actorOf(act: unknown): string | undefined {
  if (act === undefined) return undefined
  const actor = typeof act === 'object' && act !== null ? (act as { sub?: unknown }).sub : undefined
  if (typeof actor !== 'string' || actor === '')
    throw unauthenticated('the claim "act" of the token names no service: it must have a "sub"')
  return actor
}

/**
 * Scopes are separated by spaces (RFC 8693, 4.2), but some issuers write a list. A scope of a list must not contain a space: the next
 * reader of the text would take it for several scopes that were not granted.
 */
export function scopesOf(scopes: unknown): readonly string[] {
  if (Array.isArray(scopes)) {
    const texts = scopes.filter((scope) => typeof scope === 'string' && scope !== '') as string[]
    const spaced = texts.find((scope) => scope.includes(' '))
    if (spaced === undefined) return texts
    throw unauthenticated(`the token has a list of scopes in which ${JSON.stringify(spaced)} has a space: list each scope separately`)
  }
  return typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : []
}

function refusalOf(error: unknown): TidemarkError {
  if (isTidemarkError(error)) return error
  if (error instanceof errors.JWTExpired)
    return new TidemarkError('TOKEN_EXPIRED', 'the token has expired: sign in again and send the new one', { cause: error })
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthenticated(
      `the claim "${error.claim}" of the token is ${error.reason === 'missing' ? 'missing' : 'not accepted by this server'}: get a token made for this server`,
      error,
    )
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return unauthenticated(
      'the token is signed with an algorithm that this server does not accept: get a token made for this server',
      error,
    )
  }
  if (error instanceof errors.JWKSNoMatchingKey)
    return unauthenticated('the token is signed with a key that this server does not know: get a new token from the issuer', error)
  return unauthenticated('the token is malformed or its signature is wrong: get a token made for this server', error)
}

export function unauthenticated(message: string, cause?: unknown): TidemarkError {
  return new TidemarkError('UNAUTHENTICATED', message, { cause })
}
