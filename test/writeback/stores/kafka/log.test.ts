import { partitionOf } from '../../../../core/regions.ts'
import { logContract } from '../../../contracts/log.ts'
import { describe } from 'vitest'
import { service } from '../../../../harness/deployment/services.ts'
import { REGIONS, makeTopics } from '../../../stores/kafka/setup.ts'
import { decodeReward } from '../../../../writeback/flush-codec.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('the log on Kafka', () => {
  logContract('kafka', async () => {
    const topics = await makeTopics({ brokers: [address as string] })
    let log = await topics.open()
    return {
      log,
      regions: REGIONS,
      async reopen() {
        await log.close()
        log = await topics.open()
        return log
      },
      appendUndecodable: (region) => topics.appendRaw(topics.names.flushes, partitionOf(region, 12), Buffer.from('no such message')),
      readRewards: async () => (await topics.readAll(topics.names.rewards)).map(({ value }) => decodeReward(value as Buffer)),
      dispose: topics.dispose,
    }
  })
})
