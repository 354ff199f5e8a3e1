/**
 * Whole numbers below 2^53 in as few bytes as they need: seven bits per byte, lowest first, with the top bit set on all but the last
 * (LEB128, as in protobuf). JavaScript's shifts have only 32 bits, so the fifth byte and later ones are added by multiplication. Signed
 * numbers are folded first (0, -1, 1, -2 …), which leaves them 52 bits.
 */

/** Maximum bytes of a number. */
export const VARINT_BYTES_MAX = 8

/** Bytes and a read position. Reading past the end gives zeros: the reader compares `at` with the length afterwards. */
export type ByteReader = { readonly bytes: Buffer; at: number }

/** Writes a whole number, 0 to 2^53 - 1; returns the offset after it. */
export function writeVarint(value: number, target: Buffer, offset: number): number {
  let at = offset
  let rest = value
  while (rest >= 2 ** 31) {
    target[at++] = (rest % 128) | 128
    rest = Math.floor(rest / 128)
  }
  while (rest >= 128) {
    target[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  target[at] = rest
  return at + 1
}

export function readVarint(reader: ByteReader): number {
  const { bytes } = reader
  let at = reader.at
  let byte = bytes[at++] as number
  let value = byte & 127
  for (let shift = 7; byte >= 128 && shift < 28; shift += 7) {
    byte = bytes[at++] as number
    value |= (byte & 127) << shift
  }
  for (let scale = 2 ** 28; byte >= 128 && scale < 2 ** 56; scale *= 128) {
    byte = bytes[at++] as number
    value += (byte & 127) * scale
  }
  reader.at = at
  return value
}

/** Folds a whole number of less than 52 bits and a sign into one without. */
export function foldSign(value: number): number {
  return value >= 0 ? value * 2 : value * -2 - 1
}

export function unfoldSign(folded: number): number {
  if (folded < 2 ** 31) return (folded >>> 1) ^ -(folded & 1)
  return folded % 2 === 0 ? folded / 2 : (folded + 1) / -2
}
