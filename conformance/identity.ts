/**
 * How the audit's viewers authenticate: with the development headers, with tokens that the audit signs with the
 * deployment's key, or with one given token. One token means one real viewer. The audit then clears nothing, and skips
 * checks that need a viewer with an empty history.
 */
import { createPrivateKey, createSecretKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { TidemarkError } from '../core/errors.ts'

export type Identity =
  | { kind: 'headers' }
  | { kind: 'signed'; key: KeyObject; algorithm: string; issuer: string | undefined; audience: string | undefined }
  | { kind: 'token'; token: string }

export type IdentityFlags = {
  token?: string | undefined
  secret?: string | undefined
  /** The text of a private key in PEM form. */
  privateKey?: string | undefined
  issuer?: string | undefined
  audience?: string | undefined
}

/** Lifetime of a token that the audit signs, in seconds. */
const TOKEN_LIFE_S = 3_600

/** Throws CONFIG_INVALID. */
export function identityOf(flags: IdentityFlags): Identity {
  const { token, secret, privateKey, issuer, audience } = flags
  if ([token, secret, privateKey].filter((each) => each !== undefined).length > 1)
    throw new TidemarkError('CONFIG_INVALID', '--token, --secret and --private-key exclude each other: give one of them')
  if (token !== undefined) return { kind: 'token', token }
  if (secret !== undefined)
    return { kind: 'signed', key: createSecretKey(Buffer.from(secret, 'utf8')), algorithm: 'HS256', issuer, audience }
  if (privateKey === undefined) return { kind: 'headers' }
  const key = readPrivateKey(privateKey)
  return { kind: 'signed', key, algorithm: algorithmOf(key), issuer, audience }
}

function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      '--private-key is not a private key in PEM form: give a file that begins with -----BEGIN PRIVATE KEY-----',
      {
        cause: error,
      },
    )
  }
}

function algorithmOf(key: KeyObject): string {
  const algorithm = { rsa: 'RS256', ec: 'ES256', ed25519: 'EdDSA' }[key.asymmetricKeyType as string]
  if (algorithm !== undefined) return algorithm
  throw new TidemarkError('CONFIG_INVALID', `--private-key is a key of type ${key.asymmetricKeyType}: give one of RSA, P-256 or Ed25519`)
}

/** `expiresIn` in seconds; a negative value makes a token that has expired. */
export async function headersOf(
  identity: Identity,
  viewer: string,
  scopes: readonly string[] = [],
  expiresIn = TOKEN_LIFE_S,
): Promise<Record<string, string>> {
  if (identity.kind === 'token') return { authorization: `Bearer ${identity.token}` }
  if (identity.kind === 'headers') return { 'x-viewer-id': viewer, ...(scopes.length > 0 ? { 'x-viewer-scopes': scopes.join(' ') } : {}) }
  const now = Math.floor(Date.now() / 1_000)
  const jwt = new SignJWT(scopes.length > 0 ? { scope: scopes.join(' ') } : {})
    .setProtectedHeader({ alg: identity.algorithm })
    .setSubject(viewer)
    .setIssuedAt(Math.min(now, now + expiresIn))
    .setExpirationTime(now + expiresIn)
  if (identity.issuer !== undefined) jwt.setIssuer(identity.issuer)
  if (identity.audience !== undefined) jwt.setAudience(identity.audience)
  return { authorization: `Bearer ${await jwt.sign(identity.key)}` }
}
