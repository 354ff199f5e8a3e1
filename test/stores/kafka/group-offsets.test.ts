import { randomUUID } from 'node:crypto'
import { Kafka, logLevel, type Admin, type Consumer } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { service } from '../../../harness/deployment/services.ts'
import { until } from '../../../harness/until.ts'
import { askOnce } from '../../../stores/kafka/asking.ts'
import { beginNow } from '../../../stores/kafka/group-offsets.ts'
import { makeTopics } from './setup.ts'

const address = await service('kafka')

describe.skipIf(address === undefined)('the first offsets of a consumer group', () => {
  let topics: Awaited<ReturnType<typeof makeTopics>>
  let kafka: Kafka
  let admin: Admin
  const members: Consumer[] = []
  beforeAll(async () => {
    topics = await makeTopics({ brokers: [address as string] })
    kafka = new Kafka({ brokers: [address as string], logLevel: logLevel.NOTHING })
    admin = kafka.admin()
    await admin.connect()
  })
  afterEach(async () => {
    for (const member of members.splice(0)) await member.disconnect()
  })
  afterAll(async () => {
    await admin.disconnect()
    await topics.dispose()
  })

  const topicOf = () => topics.names.flushes

  /** The committed offsets by partition; -1 where nothing is committed. */
  async function committed(groupId: string): Promise<number[]> {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topicOf()] })
    return (found?.partitions ?? []).map(({ offset }) => Number(offset))
  }

  it('are the ends of the partitions, and committed offsets stay', async () => {
    const groupId = `g-${randomUUID()}`
    await topics.appendRaw(topicOf(), 3, Buffer.from('one'))
    // A broker that has just started has no coordinators yet; askOnce repeats the request.
    await askOnce(kafka, { brokers: [address as string] }, (asking, givenUp) => beginNow(kafka, asking, groupId, topicOf(), givenUp))
    const first = await committed(groupId)
    expect(first.reduce((sum, offset) => sum + offset, 0)).toBe(1)
    await topics.appendRaw(topicOf(), 3, Buffer.from('two'))
    await beginNow(kafka, admin, groupId, topicOf(), new AbortController().signal)
    expect(await committed(groupId)).toEqual(first)
  })

  it('are refused to a group with members, whose offsets are their own', async () => {
    const groupId = `g-${randomUUID()}`
    const member = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
    members.push(member)
    await member.connect()
    await member.subscribe({ topics: [topicOf()], fromBeginning: true })
    await member.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() })
    await until('the member has joined', async () => (await admin.describeGroups([groupId])).groups[0]?.state === 'Stable')
    await expect(beginNow(kafka, admin, groupId, topicOf(), new AbortController().signal)).rejects.toThrow(/has members/)
    expect(Math.max(...(await committed(groupId)))).toBe(-1)
  })

  it('are not committed once the request is given up', async () => {
    const groupId = `g-${randomUUID()}`
    const ended = new AbortController()
    const beginning = beginNow(kafka, admin, groupId, topicOf(), ended.signal)
    ended.abort()
    await expect(beginning).rejects.toThrow(/abort/i)
    expect(Math.max(...(await committed(groupId)))).toBe(-1)
  })
})
