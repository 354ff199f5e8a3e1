/**
 * One member of the persisting group: a kafkajs consumer from its first connection to its end.
 *
 * Per partition, a part of what was fetched is persisted; then what nobody could read is parked; then the offset is
 * committed; then the next part. A persist step that fails is tried again with the same messages, after a delay that
 * grows, for as long as it takes: nothing is skipped. Meanwhile heartbeats go on, so that the group does not take a slow
 * database for a dead member. When a heartbeat says that the group is rebalancing, the persist step under way is waited
 * for and committed (brokers still accept that), then the partition is let go.
 *
 * The commit comes before `resolveOffset`, which tells kafkajs where to go on: had it been the other way round, a commit
 * that failed would never be repeated in a partition to which nothing more is appended.
 */
import { type Consumer, type EachBatchPayload, type Kafka, type KafkaMessage } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'
import type { Part, Undecodable } from './batches.ts'
import { type KafkaLogger, RETRY } from './client.ts'
import { watchLife } from './watchdog.ts'

export type MemberOptions<M> = {
  topic: string
  groupId: string
  /** Decodes what was fetched and cuts it into what is persisted and committed at once. */
  parts(messages: readonly KafkaMessage[]): Iterable<Part<M>>
  /** Where a group begins that never committed: with the oldest message, or with the next to come. */
  fromBeginning: boolean
  /** Partitions persisted side by side. Minimum 1. Default 4. */
  partitionsAtOnce: number
  /** Milliseconds without a heartbeat after which the group gives a member's partitions to others. Default 10000. */
  sessionMaxMs: number
  /** Milliseconds the members have to finish their batches when the group changes. Default 60000. */
  rebalanceMaxMs: number
  /** Milliseconds without a fetch or a heartbeat after which a consumer counts as hung. Default 60000. */
  hungAfterMs: number
}

export type Member = {
  /** Resolves with the reason when this consumer crashed or hung. */
  ended: Promise<unknown>
  /** The partitions it owns now. */
  partitions(): ReadonlySet<number>
  /** Finishes the persist steps under way, commits, leaves the group. Never rejects. */
  end(): Promise<void>
}

/** Milliseconds a fetch waits at a broker for something new. A stop waits for the fetch under way. */
const FETCH_WAIT_MS = 500
const FETCH_BYTES_MAX = 1_048_576
/** Of all partitions together: what kafkajs asks for is 10 MiB, headers included. */
const FETCH_ROOM_BYTES = 5 * 1_048_576
const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
const LEAVE_MAX_MS = 5_000

export type MemberHooks<M> = {
  persist(batch: { partition: number; messages: readonly M[]; nextOffset: number }): Promise<void>
  parked?(reason: string, where?: Record<string, string | number>): void
  /** Whatever was appended before this moment (ms since the epoch) has come and is persisted. */
  caughtUp?(until: number): void
}

export function makeMember<M>(
  kafka: Kafka,
  park: (partition: number, undecodable: readonly Undecodable[]) => Promise<void>,
  hooks: MemberHooks<M>,
  clock: Clock,
  logger: KafkaLogger,
  options: MemberOptions<M>,
  onJoin: () => void,
): Member {
  const consumer = kafka.consumer({
    groupId: options.groupId,
    sessionTimeout: options.sessionMaxMs,
    rebalanceTimeout: options.rebalanceMaxMs,
    heartbeatInterval: Math.floor(options.sessionMaxMs / 5),
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytesPerPartition: FETCH_BYTES_MAX,
    allowAutoTopicCreation: false,
    // The supervisor restarts, for every reason in the same way.
    retry: { ...RETRY, restartOnFailure: () => Promise.resolve(false) },
  })
  const persisting = new Set<Promise<unknown>>()
  const ending = Promise.withResolvers<void>()
  let isEnding = false
  /** When a batch was taken that was not all there was. */
  let behindAt = 0
  let owned: ReadonlySet<number> = new Set()

  followAssignment()
  if (hooks.caughtUp !== undefined) followFetches(hooks.caughtUp)
  const watchdog = watchLife(consumer, clock, options.hungAfterMs)
  const crashed = new Promise<unknown>((resolve) => consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error)))
  const ended = Promise.race([crashed, watchdog.hung, begin().then(() => crashed)]).catch((error: unknown) => error)
  return { ended, partitions: () => owned, end }

  function followAssignment(): void {
    const { GROUP_JOIN, REBALANCING, CRASH, STOP } = consumer.events
    consumer.on(GROUP_JOIN, ({ payload }) => {
      if (isEnding) return
      owned = new Set(payload.memberAssignment[options.topic] ?? [])
      logger.info({ partitions: [...owned], group: options.groupId }, 'joined the group that persists the log')
      onJoin()
    })
    for (const event of [REBALANCING, CRASH, STOP] as const) {
      consumer.on(event, () => {
        owned = new Set()
      })
    }
  }

  /**
   * A fetch whose batches reach the ends of their partitions, or that brought none, says that all its broker had before is here.
   * kafkajs does not tell, so it is concluded when the next one begins, for which it waits until the batches are done.
   */
  function followFetches(caughtUp: (until: number) => void): void {
    const begun = new Map<string, number>()
    const quiet = new Map<string, number>()
    consumer.on(consumer.events.FETCH_START, ({ payload }) => {
      const node = String(payload.nodeId)
      const before = begun.get(node)
      if (before !== undefined && persisting.size === 0 && behindAt < before) quiet.set(node, before)
      begun.set(node, clock.now())
      if (quiet.size === begun.size) caughtUp(Math.min(...quiet.values()))
    })
    consumer.on(consumer.events.GROUP_JOIN, () => {
      begun.clear()
      quiet.clear()
    })
  }

  async function begin(): Promise<void> {
    await consumer.connect()
    await consumer.subscribe({ topics: [options.topic], fromBeginning: options.fromBeginning })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: options.partitionsAtOnce,
      eachBatch: takeBatch,
    })
  }

  async function takeBatch(payload: EachBatchPayload): Promise<void> {
    const { partition, messages } = payload.batch
    if (isBehind(payload.batch)) behindAt = clock.now()
    const mayGoOn = () => !isEnding && payload.isRunning() && !payload.isStale()
    // A consumer that was given up and wakes again must not fetch the same messages for ever: this ends it.
    if (isEnding && payload.isRunning()) throw new Replaced('this consumer was replaced')
    for (const part of options.parts(messages)) {
      if (!mayGoOn() || !(await persistPart(partition, part, payload, mayGoOn))) return
      await payload.commitOffsetsIfNecessary({ topics: [{ topic: options.topic, partitions: [{ partition, offset: part.nextOffset }] }] })
      payload.resolveOffset(String(BigInt(part.nextOffset) - 1n))
      await payload.heartbeat()
    }
  }

  /** Is there more in its partition, or could there be no room left for another partition in the fetch? */
  function isBehind(batch: EachBatchPayload['batch']): boolean {
    if (BigInt(batch.lastOffset()) + 1n < BigInt(batch.highWatermark)) return true
    const bytes = batch.messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    return bytes > FETCH_ROOM_BYTES / Math.max(1, owned.size)
  }

  /** False if it was told to stop before the part was done. */
  async function persistPart(partition: number, part: Part<M>, payload: EachBatchPayload, mayGoOn: () => boolean): Promise<boolean> {
    let isPersisted = part.messages.length === 0
    for (let failures = 0; ; failures++) {
      try {
        if (!isPersisted) await beating(payload, track(persist(partition, part)))
        isPersisted = true
        if (part.undecodable.length > 0) await beating(payload, track(parkAll(partition, part.undecodable)))
        return true
      } catch (error) {
        if (error instanceof HeartbeatFailure) throw error.cause
        if (failures === 0) logger.warn({ err: error, partition }, 'a batch of the log could not be persisted; trying again')
      }
      const delayMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10))
      await pauseBeating(payload, delayMs)
      if (!mayGoOn()) return false
    }
  }

  // Hooks are the caller's: one that throws at once is treated as one that rejects.
  async function persist(partition: number, { messages, nextOffset }: Part<M>): Promise<void> {
    await hooks.persist({ partition, messages, nextOffset: Number(nextOffset) })
  }

  async function parkAll(partition: number, undecodable: readonly Undecodable[]): Promise<void> {
    await park(partition, undecodable)
    for (const { message, reason } of undecodable) hooks.parked?.(reason, { topic: options.topic, partition, offset: message.offset })
  }

  function track<T>(work: Promise<T>): Promise<T> {
    persisting.add(work)
    const forget = () => persisting.delete(work)
    work.then(forget, forget)
    return work
  }

  /** Sends heartbeats while `work` runs. It is always waited for; if it fails, a failed heartbeat is the first thing to say. */
  async function beating(payload: EachBatchPayload, work: Promise<void>): Promise<void> {
    const heart = startHeart(payload)
    try {
      await work
    } catch (error) {
      if (heart.failure() !== undefined) throw new HeartbeatFailure(heart.failure())
      throw error
    } finally {
      heart.stop()
    }
  }

  /** Waits, with heartbeats; a failed one, or the end of this member, cuts the wait short. */
  async function pauseBeating(payload: EachBatchPayload, delayMs: number): Promise<void> {
    const heart = startHeart(payload)
    const over = Promise.withResolvers<void>()
    const timer = clock.after(delayMs, over.resolve)
    try {
      await Promise.race([over.promise, ending.promise, heart.failed])
      if (heart.failure() !== undefined) throw heart.failure()
    } finally {
      timer.cancel()
      heart.stop()
    }
  }

  function startHeart(payload: EachBatchPayload) {
    const failed = Promise.withResolvers<void>()
    let failure: unknown
    let timer = clock.after(beatMs(), beat)
    let isStopped = false
    function beatMs(): number {
      return Math.floor(options.sessionMaxMs / 10)
    }
    function beat(): void {
      payload.heartbeat().then(
        () => {
          if (!isStopped) timer = clock.after(beatMs(), beat)
        },
        (error: unknown) => {
          failure = error
          failed.resolve()
        },
      )
    }
    function stop(): void {
      isStopped = true
      timer.cancel()
    }
    return { failed: failed.promise, failure: () => failure, stop }
  }

  async function end(): Promise<void> {
    isEnding = true
    ending.resolve()
    watchdog.stop()
    owned = new Set()
    // kafkajs waits for the batches under way, which end by themselves; if it is kafkajs that hangs, do not wait for it.
    await Promise.race([disconnect(consumer), patience()])
    await Promise.allSettled(persisting)
  }

  async function patience(): Promise<void> {
    await Promise.allSettled(persisting)
    await new Promise<void>((resolve) => clock.after(LEAVE_MAX_MS, resolve))
  }
}

/** What kafkajs does not try again. */
class Replaced extends Error {
  readonly retriable = false
}

class HeartbeatFailure extends Error {
  constructor(cause: unknown) {
    super('a heartbeat failed', { cause })
  }
}

async function disconnect(consumer: Consumer): Promise<void> {
  await consumer.disconnect().catch(() => undefined)
}
