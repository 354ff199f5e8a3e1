/**
 * Keys on the wire. A key of Memcached has 1 to 250 bytes without blanks and control characters (protocol.txt). Most keys are such texts and
 * stay as they are. Any other becomes `~` and the first 24 bytes of its SHA-256 in base64url. So does a key that begins with `~`, so that no
 * key collides with an encoded one.
 */
import { createHash } from 'node:crypto'

const PLAIN = /^[!-}][!-~]*$/
const BYTES_MAX = 200

export function wireKeyOf(key: string): string {
  if (key.length <= BYTES_MAX && PLAIN.test(key)) return key
  return `~${createHash('sha256').update(key).digest().subarray(0, 24).toString('base64url')}`
}
