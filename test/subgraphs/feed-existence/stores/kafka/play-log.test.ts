import { describe } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { openKafkaPlayLog } from '../../../../../subgraphs/feed-existence/stores/kafka/play-log.ts'
import { topicNames } from '../../../../../stores/kafka/topics.ts'
import { playLogContract } from '../../../../contracts/feed-existence/play-log.ts'
import { service } from '../../../../../harness/deployment/services.ts'
import { REGIONS, makeTopics } from '../../../../stores/kafka/setup.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('the log of plays on Kafka', () => {
  playLogContract('kafka', async () => {
    const connection = { brokers: [address as string] }
    const topics = await makeTopics(connection)
    const open = () =>
      openKafkaPlayLog(
        { connection, regions: REGIONS, topicPrefix: topics.topicPrefix, sessionMaxMs: 3_000 },
        { clock: systemClock, logger: topics.logger },
      )
    let log = open()
    return {
      log,
      regions: REGIONS,
      appendRaw: (bytes) => topics.appendRaw(topicNames(topics.topicPrefix, 'plays').flushes, 3, Buffer.from(bytes)),
      listDead: async () => (await topics.readAll(topicNames(topics.topicPrefix, 'plays').dead)).map(({ value }) => value ?? Buffer.of()),
      async reopen() {
        await log.close()
        log = open()
        return log
      },
      async dispose() {
        await log.close()
        await topics.dispose()
      },
    }
  })
})
