/** The bytes of a JSON text under construction. Escaped texts and pieces of answers (escaped.ts) are appended to it. */
import type { Piece } from './escaped.ts'

export type JsonBuffer = {
  /** Text after the last piece. A writer appends to it. */
  text: string
  addPiece(piece: Piece): void
  toBytes(): Buffer
  clear(): void
}

const BYTES_MIN = 262_144

export function makeJsonBuffer(): JsonBuffer {
  let bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
  let length = 0

  function reserve(more: number): void {
    if (length + more <= bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(length + more, bytes.length * 2))
    bytes.copy(larger, 0, 0, length)
    bytes = larger
  }

  function flush(json: JsonBuffer): void {
    reserve(json.text.length)
    length += bytes.write(json.text, length, 'latin1')
    json.text = ''
  }

  return {
    text: '',
    addPiece(piece) {
      flush(this)
      reserve(piece.end - piece.start)
      length += piece.bytes.copy(bytes, length, piece.start, piece.end)
    },
    toBytes() {
      flush(this)
      return Buffer.from(bytes.subarray(0, length))
    },
    clear() {
      this.text = ''
      length = 0
      if (bytes.length > BYTES_MIN) bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
    },
  }
}
