/**
 * The bytes of a body as text. Decoding would put U+FFFD where bytes are no UTF-8, and ids with it in them would be stored and compared as
 * if the client had sent them; such a body is refused. Checking costs a tenth of decoding.
 *
 * Compressed bodies are refused as well: a few bytes could unfold to gigabytes, while operations are short, and by their ids a hundred bytes.
 * So are bodies that take JSON.parse long, in which nobody else is answered: deeper or with more values than any input has. A megabyte of
 * brackets takes a quarter of a second, a megabyte of empty objects 50 ms.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { TidemarkError } from '../../core/errors.ts'

export function textOf(bytes: Buffer, { 'content-encoding': encoding }: IncomingHttpHeaders): string | TidemarkError {
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    return new TidemarkError(
      'BODY_ENCODED',
      `the body is compressed (${encoding.slice(0, 40)}): send it as it is, or the operation by its id`,
    )
  }
  const mistake = shapeMistake(bytes)
  if (mistake !== undefined) return new TidemarkError('BAD_REQUEST', `the body ${mistake}`)
  if (isUtf8(bytes)) return bytes.toString()
  return new TidemarkError('BAD_REQUEST', 'the body is not UTF-8: encode it as UTF-8, the one encoding of JSON')
}

const LEVELS_MAX = 200
/** The largest input, 10,000 candidates, has 30,000. */
const VALUES_MAX = 100_000
/** What is shorter is parsed in some ten milliseconds, whatever it is, and looking would cost honest batches half as much. */
const UNCHECKED_MAX = 65_536
const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, BRACKET_END, BRACE_END] = [...Buffer.from('"\\,[{]}')]

/** What makes these bytes take long to parse as JSON, with what to do. One look at each byte; strings do not count. */
export function shapeMistake(bytes: Buffer): string | undefined {
  if (bytes.length <= UNCHECKED_MAX) return undefined
  let level = 0
  let values = 1
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === BRACKET || byte === BRACE) {
      if (++level > LEVELS_MAX) return `nests more than ${LEVELS_MAX} levels: send flatter variables`
      if (++values > VALUES_MAX) return TOO_MANY_VALUES
    } else if (byte === COMMA) {
      if (++values > VALUES_MAX) return TOO_MANY_VALUES
    } else if (byte === BRACKET_END || byte === BRACE_END) level--
  }
  return undefined
}

const TOO_MANY_VALUES = `has more than ${VALUES_MAX} values: send it in several calls`
