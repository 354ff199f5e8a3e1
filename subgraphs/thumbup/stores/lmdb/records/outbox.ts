/** The outbox: unpublished changes, by number, as JSON, and the persisted offsets of streams. Use it inside a transaction or a read. */
import type { MarkChanges, StreamOffset } from '../../record-store.ts'
import { getBytes, type MarkTables } from './tables.ts'
import { appendAll, sequenceKey, sequenceOf } from '../../../../../stores/lmdb/sequences.ts'

const OUTBOX = 'outbox'
const PARTITION_BYTES = 4

/** Returns the changes with their number. */
export function appendChanges({ outbox, counters }: MarkTables, changes: Omit<MarkChanges, 'number'>): MarkChanges {
  const number = appendAll(outbox, counters, OUTBOX, [Buffer.from(JSON.stringify(changes))])
  return { number, ...changes }
}

export function readChanges({ outbox }: MarkTables, limit: number, after: number): MarkChanges[] {
  return [...outbox.getRange({ start: sequenceKey(after + 1), limit })].map(({ key, value }) => ({
    number: sequenceOf(key),
    ...(JSON.parse(value.toString()) as Omit<MarkChanges, 'number'>),
  }))
}

export function readNumbers({ outbox }: MarkTables, limit: number): number[] {
  return [...outbox.getKeys({ limit })].map(sequenceOf)
}

export function removeChanges({ outbox }: MarkTables, numbers: readonly number[]): void {
  for (const number of numbers) void outbox.remove(sequenceKey(number))
}

/** Offsets never move back. */
export function moveOffsets({ offsets }: MarkTables, moved: readonly StreamOffset[]): void {
  for (const { stream, partition, offset } of moved) {
    const key = offsetKey(stream, partition)
    const known = getBytes(offsets, key)?.readDoubleBE(0)
    if (known !== undefined && known >= offset) continue
    const value = Buffer.allocUnsafe(8)
    value.writeDoubleBE(offset)
    void offsets.put(key, value)
  }
}

export function readOffsets({ offsets }: MarkTables, stream: string): StreamOffset[] {
  const range = { start: offsetKey(stream, 0), end: offsetKey(stream, 2 ** 32 - 1) }
  return [...offsets.getRange(range)].map(({ key, value }) => ({
    stream,
    partition: key.readUInt32BE(key.length - PARTITION_BYTES),
    offset: value.readDoubleBE(0),
  }))
}

/** The name of a stream contains no zero. */
function offsetKey(stream: string, partition: number): Buffer {
  const key = Buffer.alloc(Buffer.byteLength(stream) + 1 + PARTITION_BYTES)
  key.write(stream)
  key.writeUInt32BE(partition, key.length - PARTITION_BYTES)
  return key
}
