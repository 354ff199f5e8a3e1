/**
 * A growing Bloom filter, the peer of `subgraphs/feed-existence/filter/filter.ts`: it has the same hashes and the same kind of blob. The
 * design is classic: position i of a key is h1 + i * h2 (Kirsch and Mitzenmacher). A multiplication scales it from 32 bits to m, because a
 * division takes five times as long.
 *
 * A Bloom filter cannot be resized, because it does not have its keys. The filter is therefore a chain of segments (Almeida, "Scalable
 * Bloom Filters"). Each segment is for four times as many records as the one before. The first one is for 32, or for the first batch. Eight
 * of them hold 700,000 records, and each has an eighth of the rate: 3 * 1.44 bits per record more than a filter of the right size. (Shares
 * that shrink geometrically cost more from the fifth segment on.)
 *
 *     0        kind       1 – 4   CRC-32 of the rest
 *     per segment: m, bits (4 bytes), its capacity in records (4), its records (4), positions per key (1), 3 unused, m / 8 bytes
 */
import { crc32 } from 'node:zlib'
import type { Probe } from '../../../subgraphs/feed-existence/filter/filter.ts'
import type { SeenHashes } from '../../../subgraphs/feed-existence/filter/hash.ts'

const SEGMENTS = 8
const FIRST = 32
const GROWTH = 4
const HEADER_BYTES = 5
const SEGMENT_HEADER_BYTES = 16

export type Segment = { bits: number; capacity: number; records: number; positions: number; words: Uint32Array }

/** With `segmentsMax` 1 the filter has the right size for one batch of all keys, and cannot grow. */
export function addToBloom(blob: Buffer | undefined, hashes: SeenHashes, rate: number, segmentsMax: number = SEGMENTS): Buffer {
  const segments = blob === undefined ? [] : read(blob)
  const isNew = (i: number) => !segments.some((segment) => isInSegment(segment, hashes[i] as number, hashes[i + 1] as number))
  for (let i = 0; i < hashes.length; i += 2) {
    if (!isNew(i)) continue
    let last = segments.at(-1)
    if (last === undefined || last.records >= last.capacity) {
      const coming = (hashes.length - i) / 2
      const grown = last === undefined ? FIRST : last.capacity * GROWTH
      last = emptySegment(segmentsMax === 1 ? coming : Math.max(grown, coming), rate / segmentsMax)
      segments.push(last)
    }
    setBits(last, hashes[i] as number, hashes[i + 1] as number)
    last.records++
  }
  return write(segments)
}

function emptySegment(capacity: number, rate: number): Segment {
  const bits = Math.ceil((capacity * Math.log2(1 / rate)) / Math.LN2 / 32) * 32
  const positions = Math.max(1, Math.round((bits / capacity) * Math.LN2))
  return { bits, capacity, records: 0, positions, words: new Uint32Array(bits / 32) }
}

function setBits({ bits, positions, words }: Segment, hash1: number, hash2: number): void {
  const scale = bits / 2 ** 32
  for (let i = 0, at = hash1; i < positions; i++, at = (at + hash2) >>> 0) {
    const place = (at * scale) | 0
    words[place >>> 5] = (words[place >>> 5] as number) | (1 << (place & 31))
  }
}

function isInSegment({ bits, positions, words }: Segment, hash1: number, hash2: number): boolean {
  return isIn(words, bits / 2 ** 32, positions, hash1, hash2)
}

function isIn(words: Uint32Array, scale: number, positions: number, hash1: number, hash2: number): boolean {
  for (let i = 0, at = hash1; i < positions; i++, at = (at + hash2) >>> 0) {
    const place = (at * scale) | 0
    if ((((words[place >>> 5] as number) >>> (place & 31)) & 1) === 0) return false
  }
  return true
}

function write(segments: readonly Segment[]): Buffer {
  const length = segments.reduce((sum, { bits }) => sum + SEGMENT_HEADER_BYTES + bits / 8, HEADER_BYTES)
  const blob = Buffer.alloc(length, 0)
  let at = HEADER_BYTES
  for (const { bits, capacity, records, positions, words } of segments) {
    blob.writeUInt32LE(bits, at)
    blob.writeUInt32LE(capacity, at + 4)
    blob.writeUInt32LE(records, at + 8)
    blob[at + 12] = positions
    blob.set(new Uint8Array(words.buffer), at + SEGMENT_HEADER_BYTES)
    at += SEGMENT_HEADER_BYTES + bits / 8
  }
  blob.writeUInt32LE(crc32(blob.subarray(HEADER_BYTES)), 1)
  return blob
}

function read(blob: Buffer): Segment[] {
  if (blob.readUInt32LE(1) !== crc32(blob.subarray(HEADER_BYTES))) throw new Error('the checksum of the filter is wrong')
  const segments: Segment[] = []
  for (let at = HEADER_BYTES; at < blob.length;) {
    const bits = blob.readUInt32LE(at)
    const from = blob.byteOffset + at + SEGMENT_HEADER_BYTES
    // The copy is aligned.
    const words = new Uint32Array(blob.buffer.slice(from, from + bits / 8))
    segments.push({ bits, capacity: blob.readUInt32LE(at + 4), records: blob.readUInt32LE(at + 8), positions: blob[at + 12] ?? 0, words })
    at += SEGMENT_HEADER_BYTES + bits / 8
  }
  return segments
}

export function openBloom(blob: Buffer): Probe & { segments: number } {
  const segments = read(blob).reverse()
  return {
    segments: segments.length,
    records: segments.reduce((sum, { records }) => sum + records, 0),
    bytes: blob.length,
    has: (hash1, hash2) => segments.some((segment) => isInSegment(segment, hash1, hash2)),
    hasMany(hashes, found) {
      for (const { bits, positions, words } of segments) {
        const scale = bits / 2 ** 32
        for (let i = 0; i < hashes.length; i += 2) {
          if (isIn(words, scale, positions, hashes[i] as number, hashes[i + 1] as number)) {
            found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
          }
        }
      }
    },
  }
}
