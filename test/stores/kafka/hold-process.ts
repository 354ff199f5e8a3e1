/** Consumes, reports that a batch has arrived, and never finishes it, until it is killed. Arguments: address, prefix, group. */
import { systemClock } from '../../../core/clock.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { REGIONS, makeLogger } from './setup.ts'

const [address = '', topicPrefix = '', groupId = ''] = process.argv.slice(2)
const options = { connection: { brokers: [address] }, regions: REGIONS, topicPrefix, groupId, sessionMaxMs: 3_000 }
const log = await openKafkaLog(options, { clock: systemClock, logger: makeLogger() })
await log.consumeFlushes({
  persist() {
    process.stdout.write('holding\n')
    return new Promise(() => undefined)
  },
})
