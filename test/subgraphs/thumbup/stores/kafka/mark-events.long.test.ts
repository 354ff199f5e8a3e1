import { describe } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { openKafkaMarkEvents } from '../../../../../subgraphs/thumbup/stores/kafka/events.ts'
import { markEventsContract } from '../../../../contracts/thumbup/events.ts'
import { service } from '../../../../../harness/deployment/services.ts'
import { REGIONS, makeTopics } from '../../../../stores/kafka/setup.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('the outgoing events on Kafka', () => {
  markEventsContract('kafka', async () => {
    const connection = { brokers: [address as string] }
    const topics = await makeTopics(connection)
    const open = () =>
      openKafkaMarkEvents({ connection, regions: REGIONS, topicPrefix: topics.topicPrefix }, { clock: systemClock, logger: topics.logger })
    let events = open()
    return {
      events,
      async reopen() {
        await events.close()
        events = open()
        return events
      },
      async dispose() {
        await events.close()
        await topics.dispose()
      },
    }
  })
})
