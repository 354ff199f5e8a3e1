/**
 * What the gateway tells a remote subgraph about who asks: the header `tidemark-identity`, a compact JWT with the viewer,
 * his scopes and, where a service acts for him, its name. It is signed, so a subgraph need not be unreachable for others
 * to believe it; it is valid for a minute at most and for one subgraph only (`aud`), so that one partner cannot use at
 * another what it was told; and its `typ` keeps it from passing for a client's token, and a client's token for it.
 *
 * Signing (HS256 20 µs, EdDSA 60 µs) would be a good part of a small fetch. So a header is used again for half its life,
 * which also lets identical fetches of one viewer be recognized as such.
 */
import { createHmac, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { systemClock, type Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import { publicKeyOf, secretKeyOf, type TrustedKeys } from './keys.ts'
import { makeMemory } from './memory.ts'
import { makeVerify, unauthenticated, type Verify } from './tokens.ts'

export const IDENTITY_HEADER = 'tidemark-identity'
const TYP = 'tidemark-identity+jwt'
const ISSUER = 'tidemark'

/** The section `auth.identity`: one of the first two signs; a subgraph with an EdDSA gateway needs only the third. */
export type IdentityOptions = {
  /** Shared by gateway and subgraphs (HS256), at least 32 bytes. */
  readonly secret?: string | undefined
  /** PEM of an Ed25519 private key (EdDSA): of the gateway only. */
  readonly privateKey?: string | undefined
  /** PEM of its public key: what a subgraph verifies with. */
  readonly publicKey?: string | undefined
}

export type MakeHeaders = (context: object) => Record<string, string>

const LIFE_MS = 60_000
const REMEMBERED_MAX = 5_000
const NOTHING: Record<string, string> = Object.freeze({})

type Made = { readonly headers: Record<string, string>; readonly until: number }

/**
 * The headers for fetches to `subgraph`, from a request's context: `context.viewer` is who asks; nobody gets no header.
 * Undefined options: none is ever sent. CONFIG_INVALID if the key cannot sign.
 */
export function makeIdentityHeader(options: IdentityOptions | undefined, subgraph: string, clock: Clock = systemClock): MakeHeaders {
  const signer = options === undefined ? undefined : signerOf(options)
  if (signer === undefined) return () => NOTHING
  const { alg, signature } = signer
  const head = encode({ alg, typ: TYP })
  const made = makeMemory<Made>(REMEMBERED_MAX)

  return function identityHeader(context) {
    const { viewer } = context as { readonly viewer?: Viewer | undefined }
    if (viewer === undefined) return NOTHING
    const now = clock.now()
    const key = `${viewer.id}\n${viewer.actor ?? ''}\n${viewer.expiresAt ?? ''}\n${viewer.scopes.join(' ')}`
    const known = made.get(key)
    if (known !== undefined && now < known.until) return known.headers
    // Never longer than the token of the client itself.
    const expiresAt = Math.min(now + LIFE_MS, viewer.expiresAt ?? Infinity)
    const claims = {
      iss: ISSUER,
      aud: subgraph,
      sub: viewer.id,
      scope: viewer.scopes.join(' '),
      ...(viewer.actor === undefined ? {} : { act: { sub: viewer.actor } }),
      iat: Math.floor(now / 1_000),
      exp: Math.ceil(expiresAt / 1_000),
    }
    const text = `${head}.${encode(claims)}`
    const headers = Object.freeze({ [IDENTITY_HEADER]: `${text}.${signature(text).toString('base64url')}` })
    made.set(key, { headers, until: now + (expiresAt - now) / 2 })
    return headers
  }
}

/**
 * Identity, and the headers of the client that the configuration lets through to subgraphs. The front puts those into the
 * context as `forwarded`.
 */
export function makeSubgraphHeaders(options: IdentityOptions | undefined, subgraph: string, clock: Clock = systemClock): MakeHeaders {
  const identityHeader = makeIdentityHeader(options, subgraph, clock)
  return (context) => {
    const { forwarded } = context as { readonly forwarded?: Readonly<Record<string, string>> | undefined }
    return forwarded === undefined ? identityHeader(context) : { ...forwarded, ...identityHeader(context) }
  }
}

/** How a subgraph verifies the header. Undefined options: it believes none. */
export function makeIdentityVerify(options: IdentityOptions | undefined, subgraph: string, clock: Clock): Verify {
  const keys = options === undefined ? undefined : verifyingKeys(options)
  if (keys === undefined)
    return () => Promise.reject(unauthenticated(`this subgraph takes no gateway's word: set auth.identity, or send no ${IDENTITY_HEADER}`))
  // Gateways' clocks differ by seconds; the header lives for a minute.
  return makeVerify(keys, { issuer: ISSUER, audience: subgraph, typ: TYP, readActor: true, clockToleranceSeconds: 5 }, clock)
}

type Signer = { readonly alg: string; signature(text: string): Buffer }

function signerOf({ secret, privateKey }: IdentityOptions): Signer | undefined {
  if (secret !== undefined) {
    const key = secretKeyOf(secret, 'auth.identity.secret')
    return { alg: 'HS256', signature: (text) => createHmac('sha256', key).update(text).digest() }
  }
  if (privateKey === undefined) return undefined
  const key = privateKeyOf(privateKey)
  return { alg: 'EdDSA', signature: (text) => sign(null, Buffer.from(text), key) }
}

function verifyingKeys({ secret, privateKey, publicKey }: IdentityOptions): TrustedKeys | undefined {
  if (secret !== undefined) return { key: secretKeyOf(secret, 'auth.identity.secret'), algorithms: ['HS256'], believeMaxMs: LIFE_MS }
  const key =
    publicKey !== undefined
      ? publicKeyOf(publicKey, 'auth.identity.publicKey')
      : privateKey === undefined
        ? undefined
        : createPublicKey(privateKeyOf(privateKey))
  if (key === undefined) return undefined
  checkEd25519(key, 'auth.identity.publicKey')
  return { key, algorithms: ['EdDSA', 'Ed25519'], believeMaxMs: LIFE_MS }
}

function privateKeyOf(pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw new TidemarkError('CONFIG_INVALID', 'auth.identity.privateKey is not a private key in PEM form', { cause })
  }
  checkEd25519(key, 'auth.identity.privateKey')
  return key
}

function checkEd25519({ asymmetricKeyType }: KeyObject, name: string): void {
  if (asymmetricKeyType === 'ed25519') return
  throw new TidemarkError('CONFIG_INVALID', `${name} is a key of type ${asymmetricKeyType}: use Ed25519, or auth.identity.secret`)
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
