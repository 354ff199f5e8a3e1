/**
 * The bytes of a body as text. Decoding would put U+FFFD where bytes are no UTF-8, and ids with it in them would be
 * stored and compared as if the client had sent them; such a body is refused. Checking costs a tenth of decoding.
 *
 * Compressed bodies are refused as well: a few bytes could unfold to gigabytes, while operations are short, and by their
 * ids a hundred bytes. And so are bodies that nest deeper than any input: a megabyte of brackets takes JSON.parse a
 * quarter of a second, thirty times what other JSON of that size takes, in which nobody else is answered.
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
  if (nestsTooDeep(bytes)) return new TidemarkError('BAD_REQUEST', `the body nests more than ${LEVELS_MAX} levels: send flatter variables`)
  if (isUtf8(bytes)) return bytes.toString()
  return new TidemarkError('BAD_REQUEST', 'the body is not UTF-8: encode it as UTF-8, the one encoding of JSON')
}

const LEVELS_MAX = 200
/** What is shorter is parsed in some ten milliseconds, whatever it is, and looking would cost honest batches half as much. */
const UNCHECKED_MAX = 65_536
const [QUOTE, BACKSLASH, BRACKET, BRACE, BRACKET_END, BRACE_END] = [...Buffer.from('"\\[{]}')]

/** One look at each byte; what stands in strings does not count. */
export function nestsTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= UNCHECKED_MAX) return false
  let level = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === BRACKET || byte === BRACE) {
      if (++level > LEVELS_MAX) return true
    } else if (byte === BRACKET_END || byte === BRACE_END) level--
  }
  return false
}
