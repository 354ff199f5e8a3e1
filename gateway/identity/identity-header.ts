/**
 * The header `tidemark-identity` names the viewer to a remote subgraph. It is a compact JWT with the viewer, the viewer's scopes and the
 * service that acts for the viewer, if there is one.
 *
 * - It is signed, so the subgraph may be reachable for other clients too.
 * - It is valid for a minute at most and for one subgraph only (`aud`), so a partner cannot replay it at another partner.
 * - It has its own `typ`: it is not accepted as a client's token, and a client's token is not accepted as this header.
 *
 * Signing takes 20 µs with HS256 and 60 µs with EdDSA, which is much of a small fetch. A header is therefore used again for half of its
 * life. Identical fetches of one viewer then have identical headers, so the gateway can send them once.
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

/** The section `auth.identity`. A gateway signs with `secret` or `privateKey`. If it uses `privateKey`, subgraphs need only `publicKey`. */
export type IdentityOptions = {
  /** Shared by gateway and subgraphs (HS256), at least 32 bytes. */
  readonly secret?: string | undefined
  /** PEM of an Ed25519 private key (EdDSA). Only the gateway has it. */
  readonly privateKey?: string | undefined
  /** PEM of its public key, with which a subgraph verifies. */
  readonly publicKey?: string | undefined
}

export type MakeHeaders = (context: object) => Record<string, string>

const LIFE_MS = 60_000
const REMEMBERED_MAX = 5_000
const NOTHING: Record<string, string> = Object.freeze({})

type Made = { readonly headers: Record<string, string>; readonly until: number }

/**
 * The headers for fetches to `subgraph`. The viewer is `context.viewer` of the request; without a viewer there is no header. With undefined
 * options, no header is sent. Throws CONFIG_INVALID if the key cannot sign.
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
    // The header expires with the client's token at the latest.
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
 * The identity header and the forwarded headers: the client's headers that the configuration passes on to subgraphs. The front puts them
 * into the context as `forwarded`.
 */
export function makeSubgraphHeaders(options: IdentityOptions | undefined, subgraph: string, clock: Clock = systemClock): MakeHeaders {
  const identityHeader = makeIdentityHeader(options, subgraph, clock)
  return (context) => {
    const { forwarded } = context as { readonly forwarded?: Readonly<Record<string, string>> | undefined }
    return forwarded === undefined ? identityHeader(context) : { ...forwarded, ...identityHeader(context) }
  }
}

/** Verifies the header in a subgraph. With undefined options, every header is refused. */
export function makeIdentityVerify(options: IdentityOptions | undefined, subgraph: string, clock: Clock): Verify {
  const keys = options === undefined ? undefined : verifyingKeys(options)
  if (keys === undefined)
    return () =>
      Promise.reject(unauthenticated(`this subgraph accepts no identity header: set auth.identity, or send no ${IDENTITY_HEADER}`))
  // The clocks of gateways differ by seconds, and the header is valid for a minute.
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
