/**
 * Tables with ever-growing numbers as keys: the log, parked messages, rewards. The last number is stored beside them,
 * because an emptied table must not restart its numbers. The transaction that appends reads and writes it.
 */
import type { Bytes } from './environment.ts'

const KEY_BYTES = 8

/** Valid for ever, since it has its own buffer. */
export function sequenceKey(sequence: number): Buffer {
  const key = Buffer.allocUnsafe(KEY_BYTES)
  key.writeUInt32BE(Math.floor(sequence / 2 ** 32), 0)
  key.writeUInt32BE(sequence >>> 0, 4)
  return key
}

export function sequenceOf(key: Buffer): number {
  return key.readUInt32BE(0) * 2 ** 32 + key.readUInt32BE(4)
}

/** The last assigned number; 0 if there is none. To be called in a transaction. */
export function lastNumber(counters: Bytes, name: string): number {
  return counters.getBinaryFast(Buffer.from(name))?.readDoubleBE(0) ?? 0
}

/** The highest number that `appendAll` has trimmed; 0 if there is none. To be called in a transaction. */
export function trimmedNumber(counters: Bytes, name: string): number {
  return lastNumber(counters, trimmedOf(name))
}

function trimmedOf(name: string): string {
  return `${name}-trimmed`
}

/** Appends the values and keeps at most the newest `keep`. Returns the last one's number. To be called in a transaction. */
export function appendAll(
  table: Bytes,
  counters: Bytes,
  name: string,
  values: readonly Uint8Array[],
  keep = Number.POSITIVE_INFINITY,
): number {
  const counter = Buffer.from(name)
  const last = lastNumber(counters, name)
  for (const [index, value] of values.entries()) void table.put(sequenceKey(last + 1 + index), Buffer.from(value))
  void counters.put(counter, encodeNumber(last + values.length))
  const oldest = last + values.length - keep + 1
  if (oldest > 1) {
    for (const key of [...table.getKeys({ end: sequenceKey(oldest) })]) void table.remove(key)
    void counters.put(Buffer.from(trimmedOf(name)), encodeNumber(oldest - 1))
  }
  return last + values.length
}

function encodeNumber(number: number): Buffer {
  const bytes = Buffer.allocUnsafe(KEY_BYTES)
  bytes.writeDoubleBE(number)
  return bytes
}
