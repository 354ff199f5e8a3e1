/** The bytes of a JSON text under construction. Short texts are written byte by byte: a call of the engine costs more, and so does garbage. */
import type { Piece } from './escaped.ts'

export type JsonBuffer = {
  /** A constant part of the text, or escaped text. */
  add(text: string): void
  addPiece(piece: Piece): void
  toBytes(): Buffer
  clear(): void
}

const BYTES_MIN = 262_144
/** Longer texts are written by the engine. */
const SHORT_LENGTH_MAX = 48

export function makeJsonBuffer(): JsonBuffer {
  let bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
  let end = 0

  function grow(more: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(end + more, bytes.length * 2))
    bytes.copy(larger, 0, 0, end)
    bytes = larger
  }

  return {
    add(text) {
      const { length } = text
      if (end + length > bytes.length) grow(length)
      if (length > SHORT_LENGTH_MAX) bytes.write(text, end, 'latin1')
      else for (let index = 0; index < length; index += 1) bytes[end + index] = text.charCodeAt(index)
      end += length
    },
    addPiece(piece) {
      const length = piece.end - piece.start
      if (end + length > bytes.length) grow(length)
      end += piece.bytes.copy(bytes, end, piece.start, piece.end)
    },
    toBytes: () => Buffer.from(bytes.subarray(0, end)),
    clear() {
      end = 0
      if (bytes.length > BYTES_MIN) bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
    },
  }
}
