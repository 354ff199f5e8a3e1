/** A commit that fails in a partition without further messages. */
import type { Consumer, ConsumerConfig, EachBatchPayload, Kafka } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import { makeMember } from '../../../stores/kafka/member.ts'
import { service } from '../../../harness/deployment/services.ts'
import { REGIONS, makeTopics } from './setup.ts'
import { until } from '../../../harness/until.ts'
import { flushParts } from '../../../writeback/stores/kafka/flushes.ts'

const address = await service('kafka')

/** Real consumers whose first commits fail in this process, before they reach a broker. */
function failingCommits(kafka: Kafka, failures: number): { kafka: Kafka; failed(): number } {
  let failed = 0
  function wrap(consumer: Consumer): Consumer {
    const run: Consumer['run'] = (config) =>
      consumer.run({
        ...config,
        eachBatch: (payload: EachBatchPayload) =>
          config?.eachBatch?.({
            ...payload,
            commitOffsetsIfNecessary: async (offsets) => {
              if (failed++ < failures) throw new Error('the connection was lost')
              await payload.commitOffsetsIfNecessary(offsets)
            },
          }) ?? Promise.resolve(),
      })
    return { ...consumer, run }
  }
  return {
    kafka: Object.assign(Object.create(kafka) as Kafka, { consumer: (config: ConsumerConfig) => wrap(kafka.consumer(config)) }),
    failed: () => failed,
  }
}

describe.skipIf(address === undefined)('a commit that fails', () => {
  let topics: Awaited<ReturnType<typeof makeTopics>>
  beforeAll(async () => {
    topics = await makeTopics({ brokers: [address as string] })
  })
  afterAll(() => topics.dispose())

  it('is repeated with its metadata, although no further message arrives in its partition', async () => {
    const log = await topics.open()
    await log.appendFlushes([{ region: 3, keys: [{ viewer: '3', business: 1, oid: 'the last' }] }])
    const { kafka, failed } = failingCommits(topics.client, 1)
    const seen: string[] = []
    const member = makeMember<FlushMessage>(
      kafka,
      () => Promise.resolve(),
      { persist: async ({ messages }) => void seen.push(...messages.flatMap(({ keys }) => keys.map(({ oid }) => oid))) },
      systemClock,
      topics.logger,
      {
        topic: topics.names.flushes,
        groupId: topics.groupId,
        parts: (messages) => flushParts(messages, REGIONS, 100),
        fromBeginning: true,
        partitionsAtOnce: 4,
        sessionMaxMs: 3_000,
        rebalanceMaxMs: 60_000,
        hungAfterMs: 60_000,
      },
      () => undefined,
    )
    await until('nothing lags', async () => (await log.lag()) === 0)
    expect(failed()).toBe(2)
    expect(seen).toEqual(['the last', 'the last'])
    await member.end()
  })
})
