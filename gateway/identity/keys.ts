/**
 * The keys that verify tokens, and their algorithms: one secret, one public key, or the published key set of the issuer. The kind of key
 * determines the algorithms (RFC 8725, 3.1). A token cannot choose its algorithm, so a public key cannot be abused as an HMAC secret.
 * `auth.algorithms` chooses among the algorithms that fit the kind.
 */
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import { makeKeySet, type KeySetLog } from './key-set.ts'

/** The keys of the section `auth` of the configuration, with secrets as text. */
export type KeyOptions = {
  /** The key of HS256 tokens, at least 32 bytes. */
  readonly secret?: string | undefined
  /** A PEM public key: RSA for RS256, P-256 for ES256, Ed25519 for EdDSA. */
  readonly publicKey?: string | undefined
  /** The URL of the issuer's key set. */
  readonly jwksUrl?: string | undefined
  /** The only algorithms that a token may be signed with. Default: by the kind of the key. */
  readonly algorithms?: readonly string[] | undefined
}

export type TrustedKeys = {
  readonly key: KeyObject | JWTVerifyGetKey
  readonly algorithms: string[]
  /** Milliseconds for which a verified token may be trusted without a new check, because keys may be revoked. */
  readonly believeMaxMs: number
}

const EDDSA = ['EdDSA', 'Ed25519']
/** The algorithms of a key set, unless `algorithms` names fewer: every common kind of public key, and no secrets. */
const PUBLISHED = ['RS256', 'PS256', 'ES256', ...EDDSA]
const FITTING = { secret: /^HS\d+$/, rsa: /^(RS|PS)\d+$/, ec: /^ES256$/, ed25519: /^(EdDSA|Ed25519)$/, published: /^(?!HS|none)/ } as const

/** Undefined if no key is configured. Throws CONFIG_INVALID if a key cannot be used. */
export function readKeys(options: KeyOptions, clock: Clock, log?: KeySetLog): TrustedKeys | undefined {
  if (options.secret !== undefined) {
    const key = secretKeyOf(options.secret, 'auth.secret')
    return { key, algorithms: pinned(options, 'secret', ['HS256']), believeMaxMs: Infinity }
  }
  if (options.jwksUrl !== undefined) {
    const set = makeKeySet(options.jwksUrl, clock, log)
    return { key: set.find, algorithms: pinned(options, 'published', PUBLISHED), believeMaxMs: set.refreshEveryMs }
  }
  if (options.publicKey === undefined) return undefined
  const key = publicKeyOf(options.publicKey, 'auth.publicKey')
  const kind = kindOf(key)
  return { key, algorithms: pinned(options, kind, { rsa: ['RS256'], ec: ['ES256'], ed25519: EDDSA }[kind]), believeMaxMs: Infinity }
}

function pinned({ algorithms }: KeyOptions, kind: keyof typeof FITTING, byDefault: readonly string[]): string[] {
  if (algorithms === undefined) return [...byDefault]
  const misfit = algorithms.find((algorithm) => !FITTING[kind].test(algorithm))
  if (misfit !== undefined)
    throw new TidemarkError('CONFIG_INVALID', `auth.algorithms names ${misfit}, which does not fit the configured key: remove ${misfit}`)
  return [...algorithms]
}

export function secretKeyOf(secret: string, name: string): KeyObject {
  const bytes = Buffer.from(secret, 'utf8')
  if (bytes.length < 32)
    throw new TidemarkError('CONFIG_INVALID', `${name} has ${bytes.length} bytes: HS256 needs at least 32 (RFC 7518, 3.2)`)
  return createSecretKey(bytes)
}

export function publicKeyOf(pem: string, name: string): KeyObject {
  if (pem.includes('PRIVATE KEY'))
    throw new TidemarkError('CONFIG_INVALID', `${name} is a private key: a server that only verifies must not have it`)
  try {
    return createPublicKey(pem)
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${name} is not a key in PEM form: it begins with -----BEGIN PUBLIC KEY-----`, {
      cause: error,
    })
  }
}

function kindOf(key: KeyObject): 'rsa' | 'ec' | 'ed25519' {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= 2_048) return 'rsa'
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'ec'
  if (type === 'ed25519') return 'ed25519'
  throw new TidemarkError('CONFIG_INVALID', `auth.publicKey is a key of type ${type}: use RSA of at least 2048 bits, P-256 or Ed25519`)
}
