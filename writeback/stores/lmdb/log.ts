/**
 * The log on LMDB: flushes in a table by their number, one partition that owns all regions. Any process of the deployment appends. One
 * process consumes: the one that runs the job. Committing a message removes it, so the table has exactly the lagging messages. Undecodable
 * messages are moved to a separate table, with the reason.
 *
 * Rewards are appended and kept for their consumers, the newest million of them: `readRewards`.
 */
import type { Clock } from '../../../core/clock.ts'
import type { RewardEvent } from '../../../core/domain.ts'
import type { Log, LoggedReward } from '../../log.ts'
import type { Environment } from '../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../stores/lmdb/failures.ts'
import { consume, type ConsumerOptions, type RunningConsumer } from './log-consumer.ts'
import { openLogTables } from './log-tables.ts'
import { countEntries } from '../../../stores/lmdb/scan.ts'
import { LOG_POLL_MS } from '../../../stores/lmdb/pause.ts'
import { appendAll, lastNumber, sequenceKey, sequenceOf, trimmedNumber } from '../../../stores/lmdb/sequences.ts'
import { decodeReward, encodeFlush, encodeReward } from '../../flush-codec.ts'
import type { Stream } from '../../../core/log-consumer.ts'

export type LmdbLogOptions = Partial<ConsumerOptions> & {
  /** Which log of this folder. Default "history". */
  stream?: Stream
  /** Rewards kept, the newest. Minimum 1. Default 1,000,000. */
  rewardsMax?: number
}

const REWARDS_MAX = 1_000_000
const CONSUMER_DEFAULTS: ConsumerOptions = { messagesMax: 200, keysMax: 5_000, pollMs: LOG_POLL_MS, retryMinMs: 100, retryMaxMs: 5_000 }

/** The environment stays open when the log is closed, since others may use it. */
export function openLmdbLog(environment: Environment, clock: Clock, options: LmdbLogOptions = {}): Log {
  const tables = openLogTables(environment, options.stream)
  const consumerOptions: ConsumerOptions = { ...CONSUMER_DEFAULTS, ...options }
  const consumers = new Set<RunningConsumer>()
  const rewardsMax = options.rewardsMax ?? REWARDS_MAX
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('LOG_UNAVAILABLE', environment.folder, task)
  /** Consumers of this process take turns: the next begins when the one before has left. */
  let turn: Promise<unknown> = Promise.resolve()

  async function appendFlushes(messages: Parameters<Log['appendFlushes']>[0]): Promise<void> {
    if (messages.length === 0) return
    const values = messages.map(encodeFlush)
    await environment.write(() => appendAll(tables.flushes, tables.counters, 'flushes', values))
    for (const consumer of consumers) consumer.wake()
  }

  async function appendRewards(events: readonly RewardEvent[]): Promise<void> {
    if (events.length === 0) return
    const values = events.map(encodeReward)
    await environment.write(() => appendAll(tables.rewards, tables.counters, 'rewards', values, rewardsMax))
  }

  return {
    appendFlushes: (messages) => calling(() => appendFlushes(messages)),
    appendRewards: (events) => calling(() => appendRewards(events)),
    readRewards: (after, limit) =>
      calling(() =>
        environment.read(() => {
          const last = lastNumber(tables.counters, 'rewards')
          // A log that an earlier version trimmed has no stored number.
          const trimmed = Math.max(trimmedNumber(tables.counters, 'rewards'), last - rewardsMax, 0)
          return { rewards: listRewards(environment, after, limit), last, trimmed }
        }),
      ),
    consumeFlushes: (hooks) =>
      calling(() => {
        const consumer = consume(environment, tables, clock, hooks, consumerOptions, turn)
        turn = consumer.left
        consumers.add(consumer)
        void consumer.left.then(() => consumers.delete(consumer))
        return { ownedRegions: consumer.ownedRegions, stop: consumer.stop }
      }),
    lag: () => calling(() => environment.read(() => countEntries(tables.flushes))),
    check: () => calling(() => environment.read(() => undefined)),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
    },
  }
}

/** Rewards after this number (0: from the oldest kept), with their numbers, in order of appending. */
export function listRewards(environment: Environment, after: number, limit: number): LoggedReward[] {
  const { rewards } = openLogTables(environment)
  return environment.read(() =>
    Array.from(rewards.getRange({ start: sequenceKey(after + 1), limit }), ({ key, value }) => ({
      number: sequenceOf(key),
      reward: decodeReward(value),
    })),
  )
}
