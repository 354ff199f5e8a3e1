import { describe } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openKafkaMarkEvents } from '../../../stores/kafka/mark-events.ts'
import { markEventsContract } from '../../contracts/mark-events.ts'
import { service } from '../../support/services.ts'
import { REGIONS, makeTopics } from './setup.ts'

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
