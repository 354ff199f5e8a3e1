/** Streams of reads, as numbers of keys: Zipf's law over a catalogue, with and without scans, and with changing fashions. */
import { randomBelow, type Random } from '../../../core/random.ts'
import { makeZipf } from '../../../harness/samples/zipf.ts'

export function zipfStream(random: Random, reads: number, keys: number, exponent: number): Uint32Array {
  const next = makeZipf(random, keys, exponent)
  return Uint32Array.from({ length: reads }, next)
}

/** As above, and after each `everyReads` reads a run of `scanned` keys that are never read again: an export, a crawler. */
export function withScans(stream: Uint32Array, keys: number, everyReads: number, scanned: number): Uint32Array {
  let fresh = keys
  const mixed: number[] = []
  for (let at = 0; at < stream.length; at += everyReads) {
    for (const key of stream.subarray(at, at + everyReads)) mixed.push(key)
    for (let i = 0; i < scanned; i++) mixed.push(fresh++)
  }
  return Uint32Array.from(mixed)
}

/** As above, but after each `everyReads` reads every rank gets another key. */
export function withFashions(random: Random, stream: Uint32Array, keys: number, everyReads: number): Uint32Array {
  const keyOf = Uint32Array.from({ length: keys }, (_, key) => key)
  return stream.map((rank, at) => {
    if (at % everyReads === 0) shuffle(random, keyOf)
    return keyOf[rank] as number
  })
}

function shuffle(random: Random, keys: Uint32Array): void {
  for (let i = keys.length - 1; i > 0; i--) {
    const other = randomBelow(random, i + 1)
    const key = keys[i] as number
    keys[i] = keys[other] as number
    keys[other] = key
  }
}
