/** Flushes as Kafka messages: split to a size, decoded, and grouped into parts of one persist step. */
import type { KafkaMessage } from 'kafkajs'
import type { FlushMessage } from '../../log.ts'
import { decodeFlush, encodeFlush } from '../../flush-codec.ts'
import { partsOf, type Decoded, type Part } from '../../../stores/kafka/batches.ts'

/** Parts of at most `keysMax` keys; a single larger message is its own part. */
export function flushParts(messages: readonly KafkaMessage[], regions: number, keysMax: number): Generator<Part<FlushMessage>> {
  return partsOf(
    messages,
    (message) => decode(message, regions),
    (flush) => flush.keys.length,
    keysMax,
  )
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

/** A flush is a set of keys, so it may be split. Halves it until each piece has at most `bytesMax` bytes. */
export function encodePieces(message: FlushMessage, bytesMax: number): Buffer[] {
  const bytes = Buffer.from(encodeFlush(message))
  if (bytes.length <= bytesMax || message.keys.length < 2) return [bytes]
  const middle = Math.ceil(message.keys.length / 2)
  const halves = [message.keys.slice(0, middle), message.keys.slice(middle)]
  return halves.flatMap((keys) => encodePieces({ region: message.region, keys }, bytesMax))
}
