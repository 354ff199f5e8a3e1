/**
 * Unreadable messages go to the dead topic with their bytes and their place, so that an operator can examine and return them. If one is too
 * large even for that topic, only its beginning goes there. The whole message stays in its own topic, at the named offset, for the
 * retention of that topic. No message ever blocks its partition.
 */
import type { Outgoing } from './append-queue.ts'
import type { Appender } from './appender.ts'
import type { Undecodable } from './batches.ts'
import { isTooLarge } from './errors.ts'
import type { TopicNames } from './topics.ts'

const STUB_BYTES = 65_536
/** A message that unpacks to more than this does not justify the memory to send it again. */
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
