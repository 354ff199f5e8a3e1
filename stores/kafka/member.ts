/**
 * One member of the persisting group: a kafkajs consumer from its first connection to its end.
 *
 * For each part of a partition's messages, in order: persist it, park the unreadable messages, commit the offset. A failed persist step is
 * repeated with the same messages after a growing delay, without limit: nothing is skipped. Heartbeats continue meanwhile, so that the
 * group does not take a slow database for a dead member. When a heartbeat reports a rebalance, the current persist step is awaited and
 * committed (brokers still accept that), then the partition is released.
 *
 * The commit comes before `resolveOffset`, which tells kafkajs where to continue. In the reverse order, a failed commit would never be
 * repeated in a partition without further messages.
 */
import { type Consumer, type EachBatchPayload, type Kafka, type KafkaMessage } from 'kafkajs'
import type { Clock } from '../../core/clock.ts'
import type { Part, Undecodable } from './batches.ts'
import { makeCatchUp } from './catch-up.ts'
import { type KafkaLogger, RETRY } from './client.ts'
import { makeHeartbeats } from './heartbeats.ts'
import { makePersistSteps, type MemberHooks } from './persist-steps.ts'
import { watchLife } from './watchdog.ts'

export type MemberOptions<M> = {
  topic: string
  groupId: string
  /** Decodes fetched messages and splits them into parts that are persisted and committed at once. */
  parts(messages: readonly KafkaMessage[]): Iterable<Part<M>>
  /** The start of a group that never committed: the oldest message if true, else the next one. */
  fromBeginning: boolean
  /** Partitions persisted concurrently. Minimum 1. Default 4. */
  partitionsAtOnce: number
  /** Milliseconds without a heartbeat after which the group reassigns a member's partitions. Default 10000. */
  sessionMaxMs: number
  /** Milliseconds that members have to finish their batches when the group changes. Default 60000. */
  rebalanceMaxMs: number
  /** Milliseconds without a fetch or a heartbeat after which a consumer counts as hung. Default 60000. */
  hungAfterMs: number
}

export type Member = {
  /** Resolves with the reason when this consumer crashed or hung. */
  ended: Promise<unknown>
  /** The partitions that it owns now. */
  partitions(): ReadonlySet<number>
  /** Finishes current persist steps, commits, and leaves the group. Never rejects. */
  end(): Promise<void>
}

/** Milliseconds that a fetch waits at a broker for new messages. A stop waits for the current fetch. */
const FETCH_WAIT_MS = 500
const FETCH_BYTES_MAX = 1_048_576
const LEAVE_MAX_MS = 5_000

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
    // The supervisor restarts, for every reason alike.
    retry: { ...RETRY, restartOnFailure: () => Promise.resolve(false) },
  })
  const ending = Promise.withResolvers<void>()
  const heartbeats = makeHeartbeats(clock, Math.floor(options.sessionMaxMs / 10), ending.promise)
  const steps = makePersistSteps(options.topic, park, hooks, heartbeats, logger)
  const catchUp = makeCatchUp(clock)
  let isEnding = false
  let owned: ReadonlySet<number> = new Set()

  followAssignment()
  if (hooks.caughtUp !== undefined) catchUp.follow(consumer, steps.isIdle, (until) => hooks.caughtUp?.(until))
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
    catchUp.noteBatch(payload.batch, owned.size)
    const mayGoOn = () => !isEnding && payload.isRunning() && !payload.isStale()
    // A discarded consumer that wakes again must not fetch the same messages for ever. This ends it.
    if (isEnding && payload.isRunning()) throw new Replaced('this consumer was replaced')
    for (const part of options.parts(messages)) {
      if (!mayGoOn() || !(await steps.run(partition, part, payload, mayGoOn))) return
      await payload.commitOffsetsIfNecessary({ topics: [{ topic: options.topic, partitions: [{ partition, offset: part.nextOffset }] }] })
      payload.resolveOffset(String(BigInt(part.nextOffset) - 1n))
      await payload.heartbeat()
    }
  }

  async function end(): Promise<void> {
    isEnding = true
    ending.resolve()
    watchdog.stop()
    owned = new Set()
    // kafkajs waits for current batches, which end by themselves. If kafkajs itself hangs, this does not wait for it.
    await Promise.race([disconnect(consumer), patience()])
    await steps.settled()
  }

  async function patience(): Promise<void> {
    await steps.settled()
    await new Promise<void>((resolve) => clock.after(LEAVE_MAX_MS, resolve))
  }
}

/** An error that kafkajs does not retry. */
class Replaced extends Error {
  readonly retriable = false
}

async function disconnect(consumer: Consumer): Promise<void> {
  await consumer.disconnect().catch(() => undefined)
}
