/**
 * Parses the replies of Memcached's text protocol (protocol.txt of Memcached): values and lines, in the order of the requests. Values are views
 * of the received chunk, without a copy.
 *
 * A line that is no reply of the protocol is an error. The connection then ends, because nobody knows where the next reply begins.
 */

export type ReplyHandler = {
  /**
   * A value of `gets`. The key is the ASCII text from `keyFrom` to `keyTo` of `bytes`, and the data from `from` to `to`. `unique` is the
   * number of its stored state.
   */
  onValue(bytes: Buffer, keyFrom: number, keyTo: number, from: number, to: number, flags: number, unique: number): void
  /** Any other line, such as END, STORED or SERVER_ERROR out of memory. */
  onLine(line: string): void
}

const [CR, LF, SPACE, ZERO, NINE, V, A] = [13, 10, 32, 48, 57, 86, 65]
/** Larger than any reply line: a key has 250 bytes at most. */
const LINE_MAX = 2_048
/** The largest value that Memcached can be configured for (`-I`). */
const VALUE_MAX = 2 ** 30

export function makeReplyParser(handler: ReplyHandler): (chunk: Buffer) => void {
  let rest: Buffer | undefined
  /** The length of the reply whose begin is in `rest`, as far as known. Shorter input is collected without parsing. */
  let needed = 0
  let collected: Buffer[] = []
  let collectedBytes = 0

  return (chunk) => {
    let bytes = chunk
    if (rest !== undefined) {
      collected.push(chunk)
      collectedBytes += chunk.length
      if (collectedBytes < needed) return
      bytes = Buffer.concat(collected, collectedBytes)
      rest = undefined
    }
    let at = 0
    needed = 0
    while (at < bytes.length) {
      const next = bytes[at] === V && bytes[at + 1] === A ? parseValue(bytes, at) : parseLine(bytes, at)
      if (next === -1) break
      at = next
    }
    if (at === bytes.length) return
    rest = bytes.subarray(at)
    collected = [rest]
    collectedBytes = rest.length
  }

  /** Returns the position after the reply, or -1 if it is not whole. */
  function parseLine(bytes: Buffer, begin: number): number {
    const end = bytes.indexOf('\r\n', begin)
    if (end === -1 || end - begin > LINE_MAX) {
      if (bytes.length - begin > LINE_MAX) throw new Error(`a line of more than ${LINE_MAX} bytes is no reply of Memcached`)
      return -1
    }
    handler.onLine(bytes.toString('latin1', begin, end))
    return end + 2
  }

  /** VALUE key flags bytes unique */
  function parseValue(bytes: Buffer, begin: number): number {
    const header = find(bytes, CR, begin, bytes.length)
    if (header === -1 || header + 1 >= bytes.length) {
      if (bytes.length - begin > LINE_MAX) throw new Error(`a line of more than ${LINE_MAX} bytes is no reply of Memcached`)
      return -1
    }
    const keyFrom = begin + 6
    const keyTo = find(bytes, SPACE, keyFrom, header)
    const flagsTo = find(bytes, SPACE, keyTo + 1, header)
    const sizeTo = find(bytes, SPACE, flagsTo + 1, header)
    if (bytes[keyFrom - 1] !== SPACE || keyTo === -1 || flagsTo === -1 || sizeTo === -1 || bytes[header + 1] !== LF)
      throw malformed(bytes, begin)
    const size = parseNumber(bytes, flagsTo + 1, sizeTo)
    const flags = parseNumber(bytes, keyTo + 1, flagsTo)
    const unique = parseNumber(bytes, sizeTo + 1, header)
    const from = header + 2
    const to = from + size
    if (Number.isNaN(size + flags + unique) || size > VALUE_MAX) throw malformed(bytes, begin)
    if (to + 2 > bytes.length) {
      needed = to + 2 - begin
      return -1
    }
    if (bytes[to] !== CR || bytes[to + 1] !== LF) throw malformed(bytes, begin)
    handler.onValue(bytes, keyFrom, keyTo, from, to, flags, unique)
    return to + 2
  }
}

/** As `indexOf`, up to `to`. For the few bytes of a header, a call of the engine would take longer than this loop. */
function find(bytes: Buffer, wanted: number, from: number, to: number): number {
  for (let at = from; at < to; at++) if (bytes[at] === wanted) return at
  return -1
}

/** NaN if there is anything but digits, or none. */
function parseNumber(bytes: Buffer, from: number, to: number): number {
  let number = from < to ? 0 : Number.NaN
  for (let at = from; at < to; at++) {
    const digit = bytes[at] as number
    if (digit < ZERO || digit > NINE) return Number.NaN
    number = number * 10 + (digit - ZERO)
  }
  return number
}

function malformed(bytes: Buffer, begin: number): Error {
  return new Error(`"${bytes.toString('latin1', begin, begin + 60).replace(/[^ -~]/g, '.')}" is no reply of Memcached`)
}
