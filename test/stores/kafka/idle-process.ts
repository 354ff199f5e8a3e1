/** Opens a log on Kafka, consumes from it, and prints the share of a core that idling takes. Arguments: address, topic prefix. */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../core/clock.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import { makeLogger } from './setup.ts'

const [address = '', topicPrefix = ''] = process.argv.slice(2)
const WARM_UP_MS = 3_000
const MEASURE_MS = 5_000

const warnings: string[] = []
process.on('warning', (warning) => warnings.push(warning.name))
const collaborators = { clock: systemClock, logger: makeLogger() }
const log = await openKafkaLog(
  { connection: { brokers: [address] }, regions: 100, topicPrefix, groupId: `${topicPrefix}-idle` },
  collaborators,
)
const consumer = await log.consumeFlushes({ persist: () => Promise.resolve() })
await log.appendFlushes([{ region: 1, keys: [{ viewer: '1', business: 1, oid: '1' }] }])
await sleep(WARM_UP_MS)
const before = process.cpuUsage()
const began = performance.now()
await sleep(MEASURE_MS)
const { user, system } = process.cpuUsage(before)
const share = (user + system) / 1000 / (performance.now() - began)
await consumer.stop()
await log.close()
process.stdout.write(JSON.stringify({ share, warnings }))
