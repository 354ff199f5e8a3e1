/**
 * Two other ways to look up values in a Golomb-coded set, the peers of `subgraphs/feed-existence/filter/golomb-probe.ts`. One does not
 * decode the set and has an index into its bits. The other decodes it into one sorted `Uint32Array`. Both are for sets of at most 31 bits
 * per value, with codes of at most 32 bits.
 */
import { decodeSet, encodeSet, riceBits } from '../../../subgraphs/feed-existence/filter/golomb-code.ts'
import type { SeenHashes } from '../../../subgraphs/feed-existence/filter/hash.ts'

export type OtherProbe = { bytes: number; hasMany: (hashes: SeenHashes, found: Uint32Array) => void }

const RECORDS_PER_ENTRY = 3

/** For each run of values with equal first bits: the place of its first code, and the value before it. */
export function openIndexed(values: Float64Array, width: number): OtherProbe {
  const k = riceBits(values.length, width)
  const code = encodeSet(values, k)
  const words = new Uint32Array((code.length >>> 2) + 3)
  const copy = Buffer.from(words.buffer)
  code.copy(copy)
  copy.swap32()
  const windowAt = (at: number) =>
    ((words[at >>> 5] as number) << (at & 31)) | (((words[(at >>> 5) + 1] as number) >>> 1) >>> (31 - (at & 31)))

  const entries = 2 ** Math.ceil(Math.log2(values.length / RECORDS_PER_ENTRY))
  const shift = width - Math.log2(entries)
  const places = new Uint32Array(entries)
  const befores = new Int32Array(entries).fill(2 ** 31 - 1)
  let [at, before, entry] = [0, -1, 0]
  for (const value of values) {
    for (; entry <= value >>> shift; entry++) [places[entry], befores[entry]] = [at, before]
    at += Math.clz32(windowAt(at)) + 1 + k
    before = value
  }

  return {
    bytes: words.byteLength + places.byteLength + befores.byteLength,
    hasMany(hashes, found) {
      for (let i = 0; i < hashes.length; i += 2) {
        const own = (hashes[i] as number) >>> (32 - width)
        let place = places[own >>> shift] as number
        let value = befores[own >>> shift] as number
        // Zeros follow the last code.
        for (let zeros = 0; value < own && zeros < 31 - k;) {
          const window = windowAt(place)
          zeros = Math.clz32(window)
          value += (zeros << k) + (((window << (zeros + 1)) >>> (31 - k)) >>> 1) + 1
          place += zeros + 1 + k
        }
        if (value === own) found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
      }
    },
  }
}

export function openSorted(values: Float64Array, width: number): OtherProbe {
  const k = riceBits(values.length, width)
  const sorted = Uint32Array.from(decodeSet(encodeSet(values, k), values.length, k, width) ?? [])
  const bits = Math.max(0, Math.ceil(Math.log2(values.length / 2)))
  const starts = new Uint32Array(2 ** bits + 1)
  let entry = 0
  sorted.forEach((value, i) => {
    for (; entry <= value >>> (width - bits); entry++) starts[entry] = i
  })
  starts.fill(sorted.length, entry)
  return {
    bytes: sorted.byteLength + starts.byteLength,
    hasMany(hashes, found) {
      for (let i = 0; i < hashes.length; i += 2) {
        const own = (hashes[i] as number) >>> (32 - width)
        const end = starts[(own >>> (width - bits)) + 1] as number
        for (let at = starts[own >>> (width - bits)] as number; at < end; at++) {
          if (sorted[at] === own) found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
        }
      }
    },
  }
}
