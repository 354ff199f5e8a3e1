/**
 * The report of an erasure: the removed entries of each place, the rest, and the time at which each of those expires. It has a digest in place of the id of
 * the viewer. Only with `privacy.secret` is the digest safe from guessing.
 *
 * The signature covers the JSON of the report without `signature`, written without blanks, in the order of its keys. Ed25519 with
 * `privacy.privateKey`, or else HMAC-SHA256 with `privacy.secret`.
 */
import { createHash, createHmac, createPrivateKey, createPublicKey, sign, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import type { PrivacyConfig } from '../../config/privacy.ts'
import type { ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { PlaceErased } from './erasure.ts'

export type Expiry = {
  what: string
  /** At the latest, as an ISO time; null: no time is known, and `what` tells the reason. */
  until: string | null
}

export type ErasureReport = {
  kind: 'tidemark-erasure'
  format: 1
  /** `digestOf` the id. */
  viewer: string
  shape: 'embedded' | 'distributed'
  startedAt: string
  endedAt: string
  status: 'COMPLETE' | 'INCOMPLETE'
  places: readonly PlaceErased[]
  expires: readonly Expiry[]
  signature?: { alg: 'HS256' | 'EdDSA'; value: string }
}

/** Without a secret, the id can be found by trying all ids: seconds for a number. */
export function digestOf(viewer: ViewerId, { secret }: PrivacyConfig): string {
  if (secret !== undefined) return `hmac-sha256:${createHmac('sha256', secret).update(`viewer:${viewer}`).digest('hex')}`
  return `sha256:${createHash('sha256').update(viewer).digest('hex')}`
}

/** Throws CONFIG_INVALID for a key that cannot sign. */
export function signReport(report: ErasureReport, privacy: PrivacyConfig): ErasureReport {
  const bytes = signedBytes(report)
  const { secret, privateKey } = privacy
  if (privateKey !== undefined)
    return { ...report, signature: { alg: 'EdDSA', value: sign(null, bytes, ed25519Of(privateKey)).toString('base64url') } }
  if (secret === undefined) return report
  return { ...report, signature: { alg: 'HS256', value: createHmac('sha256', secret).update(bytes).digest('base64url') } }
}

/** True if the signature is that of a configured key. */
export function isGenuine(report: ErasureReport, privacy: PrivacyConfig): boolean {
  const { signature } = report
  if (signature === undefined) return false
  const given = Buffer.from(signature.value, 'base64url')
  const { secret, privateKey } = privacy
  if (signature.alg === 'HS256' && secret !== undefined) {
    const own = createHmac('sha256', secret).update(signedBytes(report)).digest()
    return own.length === given.length && timingSafeEqual(own, given)
  }
  if (signature.alg !== 'EdDSA' || privateKey === undefined) return false
  return verify(null, signedBytes(report), createPublicKey(ed25519Of(privateKey)), given)
}

export function reportOf(text: string, path: string): ErasureReport {
  try {
    const report = JSON.parse(text) as ErasureReport
    if (report.kind === 'tidemark-erasure' && report.format === 1) return report
  } catch {
    // The sentence below covers both.
  }
  throw new TidemarkError('CONFIG_INVALID', `${path} is not a report of an erasure: name a file that \`viewer erase --report\` wrote`)
}

/** Called before the erasure, so that no erasure ends without its report. */
export function requireUsableKey({ privateKey }: PrivacyConfig): void {
  if (privateKey !== undefined) ed25519Of(privateKey)
}

function signedBytes(report: ErasureReport): Buffer {
  // JSON leaves out what is undefined.
  return Buffer.from(JSON.stringify({ ...report, signature: undefined }))
}

function ed25519Of(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch (error) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      'privacy.privateKey is not a private key in PEM form: make one with `openssl genpkey -algorithm ed25519`',
      {
        cause: error,
      },
    )
  }
  throw new TidemarkError('CONFIG_INVALID', 'privacy.privateKey is not an Ed25519 key: make one with `openssl genpkey -algorithm ed25519`')
}
