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
import { makeCatchUp } from './catch-up.ts'
import { type KafkaLogger, RETRY } from './client.ts'
import { makeHeartbeats } from './heartbeats.ts'
import { makePersistSteps, type MemberHooks } from './persist-steps.ts'
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
    // The supervisor restarts, for every reason in the same way.
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
    // A consumer that was given up and wakes again must not fetch the same messages for ever: this ends it.
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
    // kafkajs waits for the batches under way, which end by themselves; if it is kafkajs that hangs, do not wait for it.
    await Promise.race([disconnect(consumer), patience()])
    await steps.settled()
  }

  async function patience(): Promise<void> {
    await steps.settled()
    await new Promise<void>((resolve) => clock.after(LEAVE_MAX_MS, resolve))
  }
}

/** What kafkajs does not try again. */
class Replaced extends Error {
  readonly retriable = false
}

async function disconnect(consumer: Consumer): Promise<void> {
  await consumer.disconnect().catch(() => undefined)
}
