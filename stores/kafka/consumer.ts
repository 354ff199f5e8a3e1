/**
 * Consumes the flushes as a member of the persisting group, and keeps doing so. A kafkajs consumer lives until it
 * crashes or hangs; then it is thrown away and, after a delay that grows, another one lives. What it had not committed
 * comes again: that is the log's promise, and the persist step is idempotent.
 *
 * One life is one `makeMember` (member.ts). This file decides when a life ends: kafkajs reports a crash, or the watchdog
 * saw no fetch and no heartbeat for too long. Before the next one begins, the persist calls of the last have settled,
 * so that batches of a partition never overlap in this process even if kafkajs was left hanging.
 *
 * Between two lives nobody knows who owns what; if Kafka is down that may last. Then the regions of the last life count as
 * owned, and all of them if there was none: they are swept, which may overlap, rather than left alone, which loses time
 * that was promised.
 */
import type { Kafka } from 'kafkajs'
import { type Clock, sleep } from '../../core/clock.ts'
import { TidemarkError, isTidemarkError } from '../../core/errors.ts'
import { partitionOf } from '../../core/regions.ts'
import type { KafkaConnection, KafkaLogger } from './client.ts'
import type { Undecodable } from './batches.ts'
import { MISSING_MAX_MS, isLasting, isMissing, isRefusal, logError } from './errors.ts'
import { type Member, type MemberOptions, makeMember } from './member.ts'
import { makePartitionCount } from './partition-count.ts'
import type { MemberHooks } from './persist-steps.ts'
import type { LogConsumer } from '../../core/log-consumer.ts'

export type SupervisorOptions<M> = MemberOptions<M> & {
  /** Shards of this deployment, of which a member owns those of its partitions. */
  regions: number
  /** Milliseconds for the first consumer to join its group where brokers do not answer. */
  startMaxMs: number
  /** Begin although no broker answers: the consumer joins when one does. */
  mayBeDown: boolean
  /** Begin although the topic is missing, or we may not use it: the consumer joins when it can. */
  mayBeUnfit?: boolean
}

export type Collaborators = {
  /** Parks a message durably. */
  park(partition: number, undecodable: readonly Undecodable[]): Promise<void>
  /** How many partitions the topic has now. */
  countPartitions(): Promise<number>
}

const NONE: ReadonlySet<number> = new Set()
const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 5_000
/** A life this long was a good one: the next restart is quick again. */
const GOOD_LIFE_MS = 60_000

export async function superviseConsumer<M>(
  kafka: Kafka,
  connection: KafkaConnection,
  collaborators: Collaborators,
  hooks: MemberHooks<M>,
  clock: Clock,
  logger: KafkaLogger,
  options: SupervisorOptions<M>,
): Promise<LogConsumer & { restarts(): number }> {
  let member: Member | undefined
  let stopped = false
  let hasBegun = false
  let restarts = 0
  /** Undefined until the first join. */
  let lastOwned: ReadonlySet<number> | undefined
  let isLost = true
  let wake: () => void = () => undefined
  const stopping = new Promise<void>((resolve) => {
    wake = resolve
  })
  const atFirst = await countAtFirst(collaborators, options)
  const partitions = makePartitionCount(atFirst, collaborators.countPartitions, clock, stopping, delayAfter)

  const begunOnce = Promise.withResolvers<void>()
  const began = clock.now()
  const living = live()
  await begunOnce.promise
  return { ownedRegions, stop, restarts: () => restarts }

  async function live(): Promise<void> {
    for (let failures = 0; !stopped; failures++) {
      const bornAt = clock.now()
      member = makeMember(kafka, collaborators.park, hooks, clock, logger, options, onJoin)
      const reason = await Promise.race([member.ended, stopping])
      isLost = true
      await member.end()
      if (stopped || giveUp(reason)) break
      if (clock.now() - bornAt >= GOOD_LIFE_MS) failures = 0
      restarts++
      // Whoever waits for a topic has been told once.
      const level = isUnfit(reason, options) ? 'debug' : 'warn'
      logger[level]({ err: reason, restarts }, 'the consumer of the log ended; starting another')
      await Promise.race([sleep(clock, delayAfter(failures)), stopping])
    }
    begunOnce.reject(new TidemarkError('LOG_UNAVAILABLE', 'the consumer was stopped before it had begun'))
  }

  /** Only at the beginning: a caller waits, and should hear what is wrong. Later it is tried for ever. */
  function giveUp(reason: unknown): boolean {
    if (hasBegun) return false
    if (isUnfit(reason, options)) begin()
    if (hasBegun) return false
    const patienceMs = isMissing(reason) ? MISSING_MAX_MS : options.startMaxMs
    const isPatient = clock.now() - began < patienceMs
    if (isLasting(reason) || (!isPatient && (isMissing(reason) || !options.mayBeDown))) {
      begunOnce.reject(logError(connection, reason))
      return true
    }
    if (options.mayBeDown && !isMissing(reason)) begin()
    return false
  }

  function begin(): void {
    hasBegun = true
    begunOnce.resolve()
  }

  function onJoin(): void {
    isLost = false
    lastOwned = member?.partitions()
    begin()
    void partitions.refresh()
  }

  function ownedRegions(): readonly number[] {
    if (stopped) return []
    const owned = isLost ? lastOwned : (member?.partitions() ?? NONE)
    const regions = Array.from({ length: options.regions }, (_, region) => region)
    const count = partitions.current()
    if (owned === undefined || (isLost && count === 0)) return regions
    return count === 0 ? [] : regions.filter((region) => owned.has(partitionOf(region, count)))
  }

  async function stop(): Promise<void> {
    stopped = true
    wake()
    await living
  }
}

async function countAtFirst<M>({ countPartitions }: Collaborators, options: SupervisorOptions<M>): Promise<number> {
  try {
    return await countPartitions()
  } catch (error) {
    if (isMissing(error)) return 0
    const isDown = isTidemarkError(error) && error.code === 'LOG_UNAVAILABLE' && (isUnfit(error, options) || !isLasting(error))
    if (options.mayBeDown && isDown) return 0
    throw error
  }
}

function isUnfit<M>(reason: unknown, { mayBeUnfit }: SupervisorOptions<M>): boolean {
  return mayBeUnfit === true && (isMissing(reason) || isRefusal(reason))
}

function delayAfter(failures: number): number {
  return Math.min(RESTART_MAX_MS, RESTART_MIN_MS * 2 ** Math.min(failures, 10))
}
