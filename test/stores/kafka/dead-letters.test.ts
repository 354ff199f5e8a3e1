/** Unreadable messages of the maximum size of a topic. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FlushMessage } from '../../../writeback/log.ts'
import { inspectTopics } from '../../../stores/kafka/topics.ts'
import { service } from '../../../harness/deployment/services.ts'
import { makeLogger, makeTopics } from './setup.ts'
import { until } from '../../../harness/until.ts'

const address = await service('kafka')
const PARTITION = 4
/** Random, so that compression does not shrink it. Together with the overhead of a batch it has the maximum size. */
const POISON = randomBytes(1_048_576 - 200)

describe.skipIf(address === undefined)('an unreadable message of the maximum size', () => {
  let topics: Awaited<ReturnType<typeof makeTopics>>
  beforeAll(async () => {
    topics = await makeTopics({ brokers: [address as string] })
  })
  afterAll(() => topics.dispose())

  async function takeAll(): Promise<{ taken: FlushMessage[]; reasons: string[] }> {
    const log = await topics.open()
    await topics.appendRaw(topics.names.flushes, PARTITION, POISON)
    await log.appendFlushes([{ region: PARTITION, keys: [{ viewer: String(PARTITION), business: 1, oid: 'behind it' }] }])
    const [taken, reasons]: [FlushMessage[], string[]] = [[], []]
    const consumer = await log.consumeFlushes({
      persist: async ({ messages }) => void taken.push(...messages),
      parked: (reason) => reasons.push(reason),
    })
    await until('nothing lags', async () => (await log.lag()) === 0)
    await consumer.stop()
    return { taken, reasons }
  }

  it('is parked completely, and later messages are consumed', async () => {
    const { taken, reasons } = await takeAll()
    expect(taken.flatMap(({ keys }) => keys.map(({ oid }) => oid))).toEqual(['behind it'])
    expect(reasons).toHaveLength(1)
    const dead = await topics.readAll(topics.names.dead)
    expect(dead).toHaveLength(1)
    expect(dead[0]?.value?.equals(POISON)).toBe(true)
    expect(dead[0]?.headers).toMatchObject({ reason: reasons[0], topic: topics.names.flushes, partition: String(PARTITION), offset: '0' })
    expect(dead[0]?.headers).not.toHaveProperty('cutFrom')
  })

  it('is parked truncated with its offset if the dead topic accepts no more, and a doctor reports that', async () => {
    const admin = topics.client.admin()
    await admin.connect()
    const configEntries = [{ name: 'max.message.bytes', value: '1048576' }]
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topics.names.dead, configEntries }] })
    await admin.disconnect()
    // A broker applies an accepted change a little later.
    const told = `${topics.names.dead} takes batches of at most 1048576 bytes: set max.message.bytes=2097152`
    const inspect = () => inspectTopics({ brokers: [address as string] }, { topicPrefix: topics.topicPrefix }, makeLogger())
    await until('a doctor says it', async () => (await inspect()).some((finding) => finding.includes(told)))
    const { taken } = await takeAll()
    expect(taken).toHaveLength(1)
    const stub = (await topics.readAll(topics.names.dead)).at(-1)
    expect(stub?.value?.equals(POISON.subarray(0, 65_536))).toBe(true)
    expect(stub?.headers).toMatchObject({ cutFrom: String(POISON.length), topic: topics.names.flushes, partition: String(PARTITION) })
    expect(Number(stub?.headers['offset'])).toBeGreaterThan(0)
  })
})
