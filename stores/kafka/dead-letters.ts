/**
 * Messages nobody could read go to the dead topic, as they were and with their place, so that they can be looked at and put
 * back. One that is too large even for that topic leaves its beginning there: it still stands in its own topic, at the
 * offset that is named, for as long as that one keeps it. Whatever it is, it never blocks its partition.
 */
import type { Outgoing } from './append-queue.ts'
import type { Appender } from './appender.ts'
import type { Undecodable } from './batches.ts'
import { isTooLarge } from './errors.ts'
import type { TopicNames } from './topics.ts'

const STUB_BYTES = 65_536
/** What unpacks to more than this is not worth the memory of sending it again. */
const WHOLE_BYTES_MAX = 16 * 1_048_576
const REASON_LENGTH_MAX = 1_000

/** Parks them durably. Rejects with LOG_UNAVAILABLE or TOPIC_MISSING. */
export async function parkAll(
  appender: Appender,
  names: TopicNames,
  partition: number,
  undecodable: readonly Undecodable[],
): Promise<void> {
  for (const each of undecodable) {
    const letter = letterOf(names, partition, each)
    if ((each.message.value?.length ?? 0) > WHOLE_BYTES_MAX) {
      await appender.append([stubOf(letter)])
      continue
    }
    await appender.append([letter]).catch((error: unknown) => {
      if (!isTooLarge(error)) throw error
      return appender.append([stubOf(letter)])
    })
  }
}

type Letter = Outgoing & { headers: Record<string, string> }

function letterOf(names: TopicNames, partition: number, { message, reason }: Undecodable): Letter {
  return {
    topic: names.dead,
    region: 0,
    value: message.value,
    headers: {
      reason: reason.slice(0, REASON_LENGTH_MAX),
      topic: names.flushes,
      partition: String(partition),
      offset: message.offset,
      key: message.key?.toString('utf8', 0, REASON_LENGTH_MAX) ?? '',
      timestamp: message.timestamp,
    },
  }
}

function stubOf({ value, headers, ...rest }: Letter): Letter {
  const bytes = String(value?.length ?? 0)
  return { ...rest, value: value?.subarray(0, STUB_BYTES) ?? null, headers: { ...headers, cutFrom: bytes } }
}
