/**
 * The column of text ids in a block of marks (`subgraphs/thumbup/archive/block.ts`). Random ids have little in common with their
 * neighbours. They use few characters, though, at four to six bits each:
 *
 *     1            bytes of the prefix that all ids share, then the prefix, UTF-8
 *     1            bytes of each rest, if all have the same; else 0, then a byte for each id
 *     1            characters in the alphabet, numbered by w bits; 0: no alphabet
 *     …            the alphabet: ASCII, ascending
 *     …            all rests in a row: w bits for each character, its place in the alphabet, lowest bit first, the last
 *                  byte filled up with zeros. Without an alphabet: UTF-8
 */
import { isAscii } from 'node:buffer'
import type { ByteReader } from '../../../core/varint.ts'

/** At least the number of bytes that `writeText` needs for these ids or some of them. */
export function textBytesMax(ids: readonly string[]): number {
  let bytes = 3 + 255
  for (const id of ids) bytes += 1 + id.length * 3
  return bytes
}

export function writeText(ids: readonly string[], target: Buffer, offset: number): number {
  const prefix = sharedPrefix(ids)
  const prefixBytes = target.write(prefix, offset + 1)
  target[offset] = prefixBytes
  let at = offset + 1 + prefixBytes
  const lengths = ids.map((id) => Buffer.byteLength(id) - prefixBytes)
  const length = lengths[0] as number
  if (lengths.every((other) => other === length)) {
    target[at++] = length
  } else {
    target[at++] = 0
    for (const each of lengths) target[at++] = each
  }
  return writeRests(Buffer.from(ids.map((id) => id.slice(prefix.length)).join('')), target, at)
}

/** A single id has no prefix. No two ids then agree in a rest of zero bytes, and 0 can mean that lengths follow. */
function sharedPrefix(ids: readonly string[]): string {
  const first = ids[0] as string
  if (ids.length === 1) return ''
  let length = first.length
  for (const id of ids) {
    let same = 0
    while (same < length && id.charCodeAt(same) === first.charCodeAt(same)) same++
    length = same
  }
  const prefix = first.slice(0, length)
  return prefix.isWellFormed() ? prefix : prefix.slice(0, -1)
}

function writeRests(rests: Buffer, target: Buffer, offset: number): number {
  const alphabet = isAscii(rests) ? charactersOf(rests) : []
  const width = bitsFor(alphabet.length)
  if (alphabet.length === 0 || alphabet.length + Math.ceil((rests.length * width) / 8) >= rests.length) {
    target[offset] = 0
    return offset + 1 + rests.copy(target, offset + 1)
  }
  target[offset] = alphabet.length
  target.set(alphabet, offset + 1)
  const codes = new Uint8Array(128)
  for (const [code, character] of alphabet.entries()) codes[character] = code
  let at = offset + 1 + alphabet.length
  let held = 0
  let bits = 0
  for (let i = 0; i < rests.length; i++) {
    held |= (codes[rests[i] as number] as number) << bits
    bits += width
    if (bits >= 8) {
      target[at++] = held & 255
      held >>>= 8
      bits -= 8
    }
  }
  if (bits > 0) target[at++] = held
  return at
}

function charactersOf(ascii: Buffer): number[] {
  const present = new Uint8Array(128)
  for (let i = 0; i < ascii.length; i++) present[ascii[i] as number] = 1
  return [...present.keys()].filter((character) => present[character] === 1)
}

function bitsFor(characters: number): number {
  return characters === 0 ? 0 : 32 - Math.clz32(characters - 1)
}

/**
 * Missing bytes at the end are zeros, as in `ByteReader`. ASCII, which nearly all ids are, becomes one string that is cut: a decoder call
 * per id would take five times as long.
 */
export function readText(reader: ByteReader, count: number): string[] {
  const { bytes } = reader
  const prefixEnd = reader.at + 1 + (bytes[reader.at] ?? 0)
  const prefix = bytes.toString('utf8', reader.at + 1, prefixEnd)
  const length = bytes[prefixEnd] ?? 0
  const ends = new Uint32Array(count)
  let end = 0
  for (let i = 0; i < count; i++) ends[i] = end += length === 0 ? (bytes[prefixEnd + 1 + i] ?? 0) : length
  reader.at = prefixEnd + 1 + (length === 0 ? count : 0)
  const rests = readRests(reader, end)
  const all = isAscii(rests) ? rests.toString('latin1') : undefined
  const ids: string[] = []
  for (let i = 0, from = 0; i < count; i++) {
    const to = ends[i] as number
    ids.push(prefix + (all === undefined ? rests.toString('utf8', from, to) : all.substring(from, to)))
    from = to
  }
  return ids
}

function readRests(reader: ByteReader, length: number): Buffer {
  const { bytes } = reader
  const characters = bytes[reader.at] ?? 0
  const start = reader.at + 1 + characters
  if (characters === 0) {
    reader.at = start + length
    return bytes.subarray(start, reader.at)
  }
  const alphabet = bytes.subarray(reader.at + 1, start)
  const width = bitsFor(characters)
  const mask = (1 << width) - 1
  reader.at = start + Math.ceil((length * width) / 8)
  // Two bytes hold any character. Looking up each one alone is three times as fast as shifting bits along.
  const packed = new Uint8Array(reader.at - start + 1)
  packed.set(bytes.subarray(start, reader.at))
  const rests = Buffer.allocUnsafe(length)
  for (let i = 0, bit = 0; i < length; i++, bit += width) {
    const at = bit >>> 3
    const window = (packed[at] as number) | ((packed[at + 1] as number) << 8)
    rests[i] = alphabet[(window >>> (bit & 7)) & mask] as number
  }
  return rests
}
