/**
 * The bytes of a body as text. Decoding would put U+FFFD where bytes are no UTF-8, and ids with it in them would be
 * stored and compared as if the client had sent them; such a body is refused. Checking costs a tenth of decoding.
 *
 * Compressed bodies are refused as well: a few bytes could unfold to gigabytes, while operations are short, and by their
 * ids a hundred bytes.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { TidemarkError } from '../core/errors.ts'

export function textOf(bytes: Buffer, { 'content-encoding': encoding }: IncomingHttpHeaders): string | TidemarkError {
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    return new TidemarkError(
      'BODY_ENCODED',
      `the body is compressed (${encoding.slice(0, 40)}): send it as it is, or the operation by its id`,
    )
  }
  if (isUtf8(bytes)) return bytes.toString()
  return new TidemarkError('BAD_REQUEST', 'the body is not UTF-8: encode it as UTF-8, the one encoding of JSON')
}
