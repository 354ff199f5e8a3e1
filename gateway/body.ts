/**
 * The bytes of a body as text. Decoding would put U+FFFD where bytes are no UTF-8, and ids with it in them would be
 * stored and compared as if the client had sent them; such a body is refused. Checking costs a tenth of decoding.
 */
import { isUtf8 } from 'node:buffer'
import { TidemarkError } from '../core/errors.ts'

/** Undefined if it is no UTF-8. */
export function textOf(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString() : undefined
}

export function notUtf8(): TidemarkError {
  return new TidemarkError('BAD_REQUEST', 'the body is not UTF-8: encode it as UTF-8, the one encoding of JSON')
}
