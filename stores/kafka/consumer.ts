/**
 * Consumes the flushes as a member of the persisting group, and keeps doing so. A kafkajs consumer that crashes or hangs is discarded, and
 * another one is started after a growing delay. Uncommitted messages come again: the log promises at-least-once delivery, and the persist
 * step is idempotent.
 *
 * One life of a consumer is one `makeMember` (member.ts). This file decides when a life ends: when kafkajs reports a crash, or the watchdog
 * saw no fetch and no heartbeat for too long. The next one begins after the persist calls of the last have settled. Batches of a partition
 * therefore never overlap in this process, even if kafkajs was left hanging.
 *
 * Between two lives, the owner of each region is unknown; if Kafka is down that may last. The regions of the last life then count as owned,
 * or all regions if there was none. Sweeping them may overlap with another process, but leaving them alone would delay persistence beyond
 * the promised time.
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
  /** Number of regions. A member owns the regions of its partitions. */
  regions: number
  /** Milliseconds for the first consumer to join its group if brokers do not answer. */
  startMaxMs: number
  /** Start even if no broker answers: the consumer joins when one does. */
  mayBeDown: boolean
  /** Start even if the topic is missing or access is denied: the consumer joins when it can. */
  mayBeUnfit?: boolean
}

export type Collaborators = {
  /** Parks a message durably. */
  park(partition: number, undecodable: readonly Undecodable[]): Promise<void>
  /** The current number of partitions of the topic. */
  countPartitions(): Promise<number>
}

const NONE: ReadonlySet<number> = new Set()
const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 5_000
/** After a life of this length, the next restart is quick again. */
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
      // Whether a consumer waits for a topic is reported once.
      const level = isUnfit(reason, options) ? 'debug' : 'warn'
      logger[level]({ err: reason, restarts }, 'the consumer of the log has ended; starting another')
      await Promise.race([sleep(clock, delayAfter(failures)), stopping])
    }
    begunOnce.reject(new TidemarkError('LOG_UNAVAILABLE', 'the consumer was stopped before it had begun'))
  }

  /** Only at the start, where a caller waits for the error. Later attempts never end. */
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
