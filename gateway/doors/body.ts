/**
 * Decodes a body. A body that is not UTF-8 is refused: decoding would replace invalid bytes by U+FFFD, and an id with that character would
 * be stored and compared as if the client had sent it. The check costs a tenth of decoding.
 *
 * Compressed bodies are refused: a few bytes could expand to gigabytes. An operation is short, and a call by id has a hundred bytes.
 *
 * Bodies that JSON.parse would take long to parse are refused, because no other request is answered meanwhile. They are nested more deeply,
 * or have more values, than any input. A megabyte of brackets takes a quarter of a second, and a megabyte of empty objects 50 ms.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { TidemarkError } from '../../core/errors.ts'

export function textOf(bytes: Buffer, { 'content-encoding': encoding }: IncomingHttpHeaders): string | TidemarkError {
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    return new TidemarkError(
      'BODY_ENCODED',
      `the body is compressed (${encoding.slice(0, 40)}): send it uncompressed and without content-encoding, or send the operation by its id`,
    )
  }
  const mistake = shapeMistake(bytes)
  if (mistake !== undefined) return new TidemarkError('BAD_REQUEST', `the body ${mistake}`)
  if (isUtf8(bytes)) return bytes.toString()
  return new TidemarkError('BAD_REQUEST', 'the body is not UTF-8: encode it as UTF-8, the one encoding of JSON')
}

/** Undefined for a body in chunks. */
export function declaredBytes(headers: IncomingHttpHeaders): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
}

const LEVELS_MAX = 200
/** The largest input, 10,000 candidates, has 30,000. */
const VALUES_MAX = 100_000
/** A shorter body of any shape is parsed in about ten milliseconds. The check would cost honest batches half of that. */
const UNCHECKED_MAX = 65_536
const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, BRACKET_END, BRACE_END] = [...Buffer.from('"\\,[{]}')]

/** The reason why these bytes take long to parse as JSON, with advice. Reads each byte once; the contents of strings do not count. */
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
