/**
 * Values as SQL text. Every value is a whole number or bytes, so a statement contains only numbers and hexadecimal digits. Nothing needs
 * escaping, and injection is impossible.
 *
 * Statements are sent as text and not prepared: at 512 rows both ways took the same time (100,000 to 170,000 rows a second, server 8 to 17
 * µs per row, client 2 to 2.5 µs), and text allows any number of rows.
 */
import assert from 'node:assert/strict'
import { PACKED_ID_BYTES_MAX, packId } from '../../core/keys.ts'

const scratch = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX)

export function idLiteral(id: string): string {
  return `x'${packedHex(id)}'`
}

/**
 * The packed id in hexadecimal. It is ordered like ids, and a concatenation of several like tuples, because a packed id includes its
 * length.
 */
export function packedHex(id: string): string {
  return scratch.toString('hex', 0, packId(id, scratch, 0))
}

export function bytesLiteral(bytes: Uint8Array): string {
  return `x'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}'`
}

export function numberLiteral(value: number): string {
  assert(Number.isSafeInteger(value) && value >= 0, `${value} is not a whole number from 0 to 2^53 - 1`)
  return String(value)
}

export function signedLiteral(value: number): string {
  return value < 0 ? `-${numberLiteral(-value)}` : numberLiteral(value)
}

export function asLiteral(hex: string): string {
  return `x'${hex}'`
}
