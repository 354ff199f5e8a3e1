/** The consumers of flushes that a process runs: members of the persisting group. */
import type { Kafka } from 'kafkajs'
import type { Clock } from '../../../core/clock.ts'
import type { LogConsumer } from '../../../core/log-consumer.ts'
import type { Undecodable } from '../../../stores/kafka/batches.ts'
import type { KafkaConnection, KafkaLogger } from '../../../stores/kafka/client.ts'
import { superviseConsumer } from '../../../stores/kafka/consumer.ts'
import type { TopicNames } from '../../../stores/kafka/topics.ts'
import type { ConsumerHooks, FlushMessage } from '../../log.ts'
import { flushParts } from './flushes.ts'
import type { KafkaLogOptions } from './log-options.ts'

/** Milliseconds for the first consumer to join, if brokers do not answer. */
const START_MAX_MS = 15_000

export type FlushConsumersOf = {
  options: KafkaLogOptions
  names: TopicNames
  groupId: string
  park(partition: number, undecodable: readonly Undecodable[]): Promise<void>
  countPartitions(): Promise<number>
}

export function makeFlushConsumers(
  kafka: Kafka,
  connection: KafkaConnection,
  clock: Clock,
  logger: KafkaLogger,
  { options, names, groupId, park, countPartitions }: FlushConsumersOf,
) {
  const consumers = new Set<LogConsumer & { restarts(): number }>()
  let restartsBefore = 0

  return {
    async consume(hooks: ConsumerHooks): Promise<LogConsumer> {
      const told: ConsumerHooks = {
        persist: (batch) => hooks.persist(batch),
        parked: (reason, where) => hooks.parked?.(reason, { ...where, deadLetters: names.dead }),
      }
      const consumer = await superviseConsumer<FlushMessage>(kafka, connection, { park, countPartitions }, told, clock, logger, {
        topic: names.flushes,
        groupId,
        regions: options.regions,
        parts: (messages) => flushParts(messages, options.regions, options.batchKeysMax ?? 20_000),
        fromBeginning: true,
        partitionsAtOnce: options.partitionsAtOnce ?? 4,
        sessionMaxMs: options.sessionMaxMs ?? 10_000,
        rebalanceMaxMs: options.rebalanceMaxMs ?? 60_000,
        hungAfterMs: options.hungAfterMs ?? 60_000,
        startMaxMs: START_MAX_MS,
        mayBeDown: options.mayBeDown ?? false,
        mayBeUnfit: options.mayBeUnfit ?? false,
      })
      consumers.add(consumer)
      return {
        ownedRegions: consumer.ownedRegions,
        async stop() {
          await consumer.stop()
          if (consumers.delete(consumer)) restartsBefore += consumer.restarts()
        },
      }
    },
    restarts: (): number => [...consumers].reduce((sum, consumer) => sum + consumer.restarts(), restartsBefore),
    async stop(): Promise<void> {
      await Promise.all([...consumers].map((consumer) => consumer.stop()))
    },
  }
}
