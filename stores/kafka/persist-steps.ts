/**
 * The persist step of one part of a partition: persists its messages, then parks the unreadable ones. A failed step is repeated with the
 * same messages after a growing delay.
 */
import type { EachBatchPayload } from 'kafkajs'
import type { Part, Undecodable } from './batches.ts'
import type { KafkaLogger } from './client.ts'
import { HeartbeatFailure, type Heartbeats } from './heartbeats.ts'

export type MemberHooks<M> = {
  persist(batch: { partition: number; messages: readonly M[]; nextOffset: number }): Promise<void>
  parked?(reason: string, where?: Record<string, string | number>): void
  /** All messages appended before this moment (ms since the epoch) have arrived and are persisted. */
  caughtUp?(until: number): void
}

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000

export function makePersistSteps<M>(
  topic: string,
  park: (partition: number, undecodable: readonly Undecodable[]) => Promise<void>,
  hooks: MemberHooks<M>,
  heartbeats: Heartbeats,
  logger: KafkaLogger,
) {
  const underWay = new Set<Promise<unknown>>()

  // A hook may throw synchronously. That is treated as a rejection.
  async function persist(partition: number, { messages, nextOffset }: Part<M>): Promise<void> {
    await hooks.persist({ partition, messages, nextOffset: Number(nextOffset) })
  }

  async function parkAll(partition: number, undecodable: readonly Undecodable[]): Promise<void> {
    await park(partition, undecodable)
    for (const { message, reason } of undecodable) hooks.parked?.(reason, { topic, partition, offset: message.offset })
  }

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const forget = () => underWay.delete(work)
    work.then(forget, forget)
    return work
  }

  return {
    /** False if it was stopped before the part was done. */
    async run(partition: number, part: Part<M>, payload: EachBatchPayload, mayGoOn: () => boolean): Promise<boolean> {
      let isPersisted = part.messages.length === 0
      for (let failures = 0; ; failures++) {
        try {
          if (!isPersisted) await heartbeats.during(payload, track(persist(partition, part)))
          isPersisted = true
          if (part.undecodable.length > 0) await heartbeats.during(payload, track(parkAll(partition, part.undecodable)))
          return true
        } catch (error) {
          if (error instanceof HeartbeatFailure) throw error.cause
          if (failures === 0) logger.warn({ err: error, partition }, 'a batch of the log could not be persisted; trying again')
        }
        const delayMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10))
        await heartbeats.pause(payload, delayMs)
        if (!mayGoOn()) return false
      }
    },

    isIdle: () => underWay.size === 0,

    /** Resolves when the current steps have ended. */
    async settled(): Promise<void> {
      await Promise.allSettled(underWay)
    },
  }
}
