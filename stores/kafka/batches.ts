/**
 * What Kafka hands over, as batches of the port: decoded, bounded, with what nobody can read set aside. A part is the
 * unit that is persisted and committed; a fetch of a megabyte may hold far more keys than one persist step should take.
 */
import type { KafkaMessage } from 'kafkajs'
import { decodeFlush, encodeFlush } from '../../subgraphs/history/model/record-codec.ts'
import type { FlushMessage } from '../../writeback/log.ts'

export type Undecodable = { message: KafkaMessage; reason: string }

export type Part<M> = {
  messages: M[]
  undecodable: Undecodable[]
  /** The offset to commit once the part is done: that of the message after its last. */
  nextOffset: string
}

/** Parts of at most `keysMax` keys; a single larger message is a part of its own. */
export function flushParts(messages: readonly KafkaMessage[], regions: number, keysMax: number): Generator<Part<FlushMessage>> {
  return partsOf(
    messages,
    (message) => decode(message, regions),
    (flush) => flush.keys.length,
    keysMax,
  )
}

/** `apart`: what could not be read of it, as a message of its own. */
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

function decode(message: KafkaMessage, regions: number): Decoded<FlushMessage> {
  if (message.value === null) return { reason: 'the message has no value' }
  try {
    const flush = decodeFlush(message.value)
    if (flush.region < regions) return { content: flush }
    return { reason: `region ${flush.region} is not one of the ${regions} of this deployment: another one writes to its topic` }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

/** A flush may be cut: it is a set of keys. Halves it until each piece is at most `bytesMax` long. */
export function encodePieces(message: FlushMessage, bytesMax: number): Buffer[] {
  const bytes = Buffer.from(encodeFlush(message))
  if (bytes.length <= bytesMax || message.keys.length < 2) return [bytes]
  const middle = Math.ceil(message.keys.length / 2)
  const halves = [message.keys.slice(0, middle), message.keys.slice(middle)]
  return halves.flatMap((keys) => encodePieces({ region: message.region, keys }, bytesMax))
}
