/** Finds the end of a reply of Redis (RESP2 and RESP3) whose bytes may come in several chunks, without decoding its values. */

/** The first line of a value of these types has the number of bytes, values or pairs of values that follow it. */
const BYTES_FOLLOW = typesOf('$=!')
const VALUES_FOLLOW = typesOf('*~>')
const PAIRS_FOLLOW = typesOf('%')
const MINUS = 45
const LINE_FEED = 10
const ZERO = 48

/**
 * The returned function gets the chunks of a reply, from the position at which the reply begins or continues. It returns the position of
 * the reply's end, or undefined if the reply continues in the next chunk. After an end, it is ready for the next reply.
 */
export function makeReplyEnd(): (chunk: Buffer, from: number) => number | undefined {
  /** Values to come, the current one included. */
  let values = 1
  /** The type of the current value while its first line is read; otherwise 0. */
  let type = 0
  let number = 0
  let isNull = false
  let skipped = 0

  function endLine(): void {
    values -= 1
    if (!isNull && BYTES_FOLLOW.has(type)) skipped = number + 2
    if (!isNull && VALUES_FOLLOW.has(type)) values += number
    if (!isNull && PAIRS_FOLLOW.has(type)) values += 2 * number
    type = 0
  }

  return (chunk, from) => {
    let at = from
    for (;;) {
      const bytes = Math.min(skipped, chunk.length - at)
      skipped -= bytes
      at += bytes
      if (values === 0 && skipped === 0) {
        values = 1
        return at
      }
      if (at === chunk.length) return undefined
      const byte = chunk[at++] as number
      if (type === 0) {
        type = byte
        number = 0
        isNull = false
      } else if (byte === LINE_FEED) endLine()
      else if (byte === MINUS) isNull = true
      else if (byte >= ZERO) number = number * 10 + byte - ZERO
    }
  }
}

function typesOf(types: string): ReadonlySet<number> {
  return new Set(Buffer.from(types))
}
