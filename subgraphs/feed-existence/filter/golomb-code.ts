/**
 * A compact code for a sorted set of whole numbers below 2^40. It stores the distances between neighbours, minus one, each as a Golomb-Rice
 * code: the distance without its lowest k bits in unary (that many zeros and a one), then the k bits. The first distance is from -1. Bits
 * are taken from the top of each byte, and zeros fill the last byte.
 *
 * For n numbers spread evenly below 2^w, the best k depends on 2^w / n alone (A. Kiely, "Selecting the Golomb Parameter in Rice Coding",
 * 2004). A number then takes log2(2^w / n) + 1.5 bits. k is stored beside the code, so readers need no logarithm.
 *
 * The decoder looks at the next 32 bits at once. They hold nearly every code of a filter that is near its rate.
 */

/** The best k for `count` numbers below 2^width. */
export function riceBits(count: number, width: number): number {
  return Math.max(0, 1 + Math.floor(Math.log2((2 ** width / count) * 0.4812)))
}

/** Strictly ascending values, at least one. */
export function encodeSet(values: Float64Array, k: number): Buffer {
  const unit = 2 ** k
  const bitsMax = values.length * (k + 1) + Math.floor((values.at(-1) as number) / unit)
  const bytes = Buffer.alloc(Math.ceil(bitsMax / 8) + 4)
  let at = 0
  let next = 0
  for (const value of values) {
    const distance = value - next
    const quotient = Math.floor(distance / unit)
    const rest = distance - quotient * unit
    at += quotient
    if (k < 25) {
      putBits(bytes, at, unit + rest, k + 1)
    } else {
      const upper = Math.floor(rest / 2 ** 20)
      putBits(bytes, at, 2 ** (k - 20) + upper, k - 19)
      putBits(bytes, at + k - 19, rest - upper * 2 ** 20, 20)
    }
    at += k + 1
    next = value + 1
  }
  return bytes.subarray(0, Math.ceil(at / 8))
}

/** At most 25 bits. */
function putBits(bytes: Buffer, at: number, bits: number, count: number): void {
  const first = at >>> 3
  const word = bits << (32 - count - (at & 7))
  bytes[first] = (bytes[first] as number) | (word >>> 24)
  bytes[first + 1] = (bytes[first + 1] as number) | ((word >>> 16) & 255)
  bytes[first + 2] = (bytes[first + 2] as number) | ((word >>> 8) & 255)
  bytes[first + 3] = (bytes[first + 3] as number) | (word & 255)
}

/** Undefined if the bytes are not exactly the code of `count` numbers below 2^width. */
export function decodeSet(bytes: Buffer, count: number, k: number, width: number): Float64Array | undefined {
  const values = new Float64Array(count)
  const words = wordsOf(bytes)
  const end = bytes.length * 8
  const unit = 2 ** k
  // A shift by 32 would do nothing, so it is split in two.
  const restShift = 31 - k
  let at = 0
  let next = 0
  for (let i = 0; i < count; i++) {
    const window = windowAt(words, at)
    let quotient = Math.clz32(window)
    let rest: number
    if (quotient < restShift) {
      rest = ((window << (quotient + 1)) >>> restShift) >>> 1
      at += quotient + 1 + k
    } else {
      const one = nextOne(words, at, end)
      quotient = one - at
      rest = restAt(words, one + 1, k)
      at = one + 1 + k
      // The code ends before the numbers are complete.
      if (at > end) return undefined
    }
    const value = next + quotient * unit + rest
    values[i] = value
    next = value + 1
  }
  return Math.ceil(at / 8) === bytes.length && next <= 2 ** width ? values : undefined
}

/** Aligned words in the machine's byte order (little endian on all but one platform of Node), with two words of zeros at the end. */
function wordsOf(bytes: Buffer): Uint32Array {
  const words = new Uint32Array((bytes.length >>> 2) + 3)
  const copy = Buffer.from(words.buffer)
  bytes.copy(copy)
  if (IS_LITTLE_ENDIAN) copy.swap32()
  return words
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

function windowAt(words: Uint32Array, at: number): number {
  const first = at >>> 5
  const used = at & 31
  return ((words[first] as number) << used) | (((words[first + 1] as number) >>> 1) >>> (31 - used))
}

function nextOne(words: Uint32Array, from: number, end: number): number {
  let at = from
  while (at < end) {
    const zeros = Math.clz32(windowAt(words, at))
    if (zeros < 32) return at + zeros
    at += 32
  }
  return end
}

function restAt(words: Uint32Array, at: number, k: number): number {
  if (k <= 31) return (windowAt(words, at) >>> (31 - k)) >>> 1
  return ((windowAt(words, at) >>> (63 - k)) >>> 1) * 2 ** 32 + (windowAt(words, at + k - 32) >>> 0)
}
