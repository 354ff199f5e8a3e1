/**
 * Fetched messages as batches of the port: decoded and bounded, with unreadable messages set apart. A part is persisted and committed as a
 * unit; a fetch of a megabyte may have far more keys than one persist step should take.
 */
import type { KafkaMessage } from 'kafkajs'

export type Undecodable = { message: KafkaMessage; reason: string }

export type Part<M> = {
  messages: M[]
  undecodable: Undecodable[]
  /** The offset to commit once the part is done: that of the message after its last. */
  nextOffset: string
}

/** `apart`: the unreadable part, as its own message. */
export type Decoded<M> = { content: M; apart?: { value: Buffer; reason: string } } | { reason: string }

/** Cuts messages into parts that together weigh at most `weightMax`. */
export function* partsOf<M>(
  messages: readonly KafkaMessage[],
  decodeOne: (message: KafkaMessage) => Decoded<M>,
  weightOf: (content: M) => number,
  weightMax: number,
): Generator<Part<M>> {
  let part: Part<M> = { messages: [], undecodable: [], nextOffset: '' }
  let weight = 0
  for (const message of messages) {
    const decoded = decodeOne(message)
    const more = 'content' in decoded ? weightOf(decoded.content) : 0
    if (part.nextOffset !== '' && weight + more > weightMax) {
      yield part
      part = { messages: [], undecodable: [], nextOffset: '' }
      weight = 0
    }
    if ('content' in decoded) part.messages.push(decoded.content)
    else part.undecodable.push({ message, reason: decoded.reason })
    if ('content' in decoded && decoded.apart !== undefined) {
      const { value, reason } = decoded.apart
      part.undecodable.push({ message: { ...message, value }, reason })
    }
    part.nextOffset = String(BigInt(message.offset) + 1n)
    weight += more
  }
  if (part.nextOffset !== '') yield part
}
