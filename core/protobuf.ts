/** Numbers that a decoder of protobuf messages returned. */

/** The generated types say number, but the decoder returns `Long` for 64-bit values. */
export function plainNumber(value: number | { low: number; high: number }): number {
  return typeof value === 'number' ? value : (value.high >>> 0) * 2 ** 32 + (value.low >>> 0)
}
