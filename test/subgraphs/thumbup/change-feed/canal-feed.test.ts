/** TiCDC is not available here. Its messages are built from its documentation and sent through a real Kafka. */
import { randomUUID } from 'node:crypto'
import { Kafka, Partitioners, logLevel } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import { PACKED_ID_BYTES_MAX, packId } from '../../../../core/keys.ts'
import type { WriteBeat } from '../../../../subgraphs/thumbup/change-feed/count-feed.ts'
import { type CanalFeedOptions, makeCanalFeed } from '../../../../subgraphs/thumbup/change-feed/kafka/canal-feed.ts'
import { parseCanal } from '../../../../subgraphs/thumbup/change-feed/kafka/canal-message.ts'
import { makeCanalProgress } from '../../../../subgraphs/thumbup/change-feed/kafka/canal-progress.ts'
import { type Followed, follow } from '../../../../harness/samples/count-feeds.ts'
import { service } from '../../../../harness/deployment/services.ts'
import { again } from '../../../../stores/kafka/asking.ts'
import { isUnsettled } from '../../../../stores/kafka/errors.ts'
import { makeLogger, makeTopics } from '../../../stores/kafka/setup.ts'
import { until } from '../../../../harness/until.ts'

const address = await service('kafka')

function packed(id: string): string {
  const bytes = Buffer.alloc(PACKED_ID_BYTES_MAX)
  return bytes.toString('latin1', 0, packId(id, bytes, 0))
}

type Columns = Record<string, string | null>

/** The JSON encoding of Go: timestamps beyond 2^53, and `&`, `<`, `>` as escapes. */
function canal(type: string, table: string, data: Columns | null, tidb?: string): Buffer {
  const message = {
    id: 0,
    database: 'tidemark',
    table,
    pkNames: [],
    isDdl: false,
    type,
    es: 1,
    ts: 2,
    sql: '',
    sqlType: {},
    mysqlType: {},
    data: data && [data],
    old: null,
  }
  const text = JSON.stringify(message).replaceAll(/[&<>]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
  return Buffer.from(tidb === undefined ? text : `${text.slice(0, -1)},"_tidb":${tidb}}`)
}

const countRow = (oid: string, version: number): Columns => ({
  business: '65535',
  oid: packed(oid),
  likes: String(version + 2 ** 50),
  dislikes: '1',
  version: String(version),
  owner: null,
})

/** A TiDB timestamp: milliseconds and 18 more bits. */
const tso = (ms: number): string => String(BigInt(ms) << 18n)

describe('a message of canal-json', () => {
  it.each(['7', '9223372036854775807', 'naïve&<>ÿ', '\u{1f600}', '0'])('has the id %s byte by byte', (oid) => {
    expect(parseCanal(canal('UPDATE', 'counts', countRow(oid, 3)), 'tidemark')).toMatchObject({
      changes: [{ kind: 'count', counted: { business: 65_535, oid, counts: { likes: 3 + 2 ** 50, dislikes: 1, version: 3 } } }],
    })
  })

  it.each([
    ['another table', canal('INSERT', 'likes', countRow('1', 1))],
    ['a row that went', canal('DELETE', 'counts', countRow('1', 1))],
    ['a definition', Buffer.from('{"isDdl":true,"type":"QUERY","database":"tidemark","table":"counts","data":null}')],
    ['another database', Buffer.from(canal('INSERT', 'counts', countRow('1', 1)).toString().replace('"tidemark"', '"other"'))],
  ])('%s has no changes', (_, bytes) => expect(parseCanal(bytes, 'tidemark')).toEqual({ kind: 'nothing' }))

  it.each(['', 'null', '[]', '{}', '{"type":"TIDB_WATERMARK"}', '{"type":"INSERT","database":"tidemark","table":"counts","data":null}'])(
    '%s is refused',
    (text) => expect(() => parseCanal(Buffer.from(text), 'tidemark')).toThrow(/./),
  )

  it('an invalid number is refused', () =>
    expect(() => parseCanal(canal('INSERT', 'counts', { ...countRow('1', 1), likes: '-1' }), 'tidemark')).toThrow(/likes is -1/))
})

describe('the time until which a topic has been read', () => {
  it('with several partitions a beat counts once all of them have passed its commit', () => {
    const progress = makeCanalProgress(2)
    progress.beat(1_000, Number(tso(1_001)))
    progress.watermark(0, Number(tso(1_005)))
    expect(progress.readUntil()).toBe(0)
    progress.watermark(1, Number(tso(1_001)))
    expect(progress.readUntil()).toBe(0)
    progress.watermark(1, Number(tso(1_002)))
    expect(progress.readUntil()).toBe(1_000)
  })
})

describe.skipIf(address === undefined)('the change feed from a topic of TiCDC', () => {
  const connection = { brokers: [address as string] }
  const client = new Kafka({ brokers: [...connection.brokers], logLevel: logLevel.NOTHING })
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const followed: Followed[] = []
  const created: string[] = []
  let topics: Awaited<ReturnType<typeof makeTopics>>
  beforeAll(async () => {
    topics = await makeTopics(connection)
    await producer.connect()
  })
  afterEach(async () => {
    await Promise.all(followed.splice(0).map(({ running }) => running.stop()))
  })
  afterAll(async () => {
    await producer?.disconnect()
    const admin = client.admin()
    await admin.connect()
    await admin.deleteTopics({ topics: created })
    await admin.disconnect()
    await topics?.dispose()
  })

  async function makeTopic(numPartitions: number): Promise<string> {
    const topic = `canal-${randomUUID().slice(0, 8)}`
    const admin = client.admin()
    await admin.connect()
    // As in stores/kafka/topics.ts: kafkajs' own waiting fails where a broker does not know the topic yet.
    await admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions, replicationFactor: 1 }] })
    await again(isUnsettled, () => admin.fetchTopicOffsets(topic))
    await admin.disconnect()
    created.push(topic)
    return topic
  }

  const send = (topic: string, partition: number, ...values: Buffer[]) =>
    producer.send({ topic, messages: values.map((value) => ({ partition, value })) })

  /** The path of a beat through TiDB and TiCDC, shortened. */
  const through =
    (topic: string, tidb: () => string | undefined): WriteBeat =>
    async (feed, instance, beatAt) => {
      const data = { feed, instance, beat_at: String(beatAt) }
      await send(topic, 0, canal('UPDATE', 'heartbeats', data, tidb()))
    }

  async function started(topic: string, writeBeat: WriteBeat, more: Partial<CanalFeedOptions> = {}, failures = 0): Promise<Followed> {
    const options = { connection, topic, database: 'tidemark', name: 'one', topicPrefix: topics.topicPrefix, beatEveryMs: 100, ...more }
    const following = await follow(makeCanalFeed(writeBeat, options, { clock: systemClock, logger: makeLogger() }), failures)
    followed.push(following)
    return following
  }

  const textsOf = ({ counts }: Followed) => counts.map((each) => `${each.oid}@${each.counts.version}`)

  it('delivers changes from its first start on, reports the time it has read, and resumes after a stop', async () => {
    const topic = await makeTopic(1)
    const beats = through(topic, () => undefined)
    await send(topic, 0, canal('INSERT', 'counts', countRow('before', 1)))
    const first = await started(topic, beats, { name: 'resumed' })
    await send(topic, 0, canal('INSERT', 'counts', countRow('a', 1)), canal('UPDATE', 'counts', countRow('a', 2)))
    await send(topic, 0, canal('UPDATE', 'owners', { business: '1', owner: packed('o'), likes: '7', version: '3' }))
    const sentAt = Date.now()
    await until('it has read', () => first.running.readUntil() > sentAt)
    expect(textsOf(first)).toEqual(['a@1', 'a@2'])
    expect(first.owners).toEqual([{ business: 1, owner: 'o', likes: 7, version: 3 }])
    await first.running.stop()
    await send(topic, 0, canal('UPDATE', 'counts', countRow('a', 3)))
    const second = await started(topic, beats, { name: 'resumed' })
    await until('the next came', () => second.counts.length > 0)
    expect(textsOf(second)).toEqual(['a@3'])
    expect([...first.gaps, ...second.gaps]).toEqual([])
  })

  it('delivers a rejected change again, and does not report it as read', async () => {
    const topic = await makeTopic(1)
    const feed = await started(
      topic,
      through(topic, () => undefined),
      { name: 'rejected' },
      2,
    )
    await send(topic, 0, canal('INSERT', 'counts', countRow('a', 1)))
    await until('it was rejected', () => feed.calls() > 0)
    await until('it came', () => feed.counts.length > 0)
    expect(textsOf(feed)).toEqual(['a@1'])
  })

  it('with several partitions it reports the time of the slowest one', async () => {
    const topic = await makeTopic(2)
    const begun = Date.now()
    const feed = await started(
      topic,
      through(topic, () => `{"commitTs":${tso(Date.now())}}`),
      { name: 'several' },
    )
    const watermark = (ms: number) => canal('TIDB_WATERMARK', '', null, `{"watermarkTs":${tso(ms)}}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await send(topic, 0, watermark(Date.now()))
    await send(topic, 1, canal('INSERT', 'counts', countRow('a', 1)))
    await until('it came', () => feed.counts.length > 0)
    expect(feed.running.readUntil()).toBe(0)
    await send(topic, 1, watermark(Date.now()))
    await until('it has read', () => feed.running.readUntil() >= begun)
  })

  it('an unreadable message is quarantined and reported, and the next messages arrive', async () => {
    const topic = await makeTopic(1)
    const feed = await started(
      topic,
      through(topic, () => undefined),
      { name: 'unread' },
    )
    await send(
      topic,
      0,
      Buffer.from('avro?'),
      canal('INSERT', 'counts', { ...countRow('a', 1), oid: 'x' }),
      canal('INSERT', 'counts', countRow('b', 1)),
    )
    await until('the last came', () => feed.counts.length > 0)
    await until('the others were told', () => feed.gaps.length >= 2)
    expect(textsOf(feed)).toEqual(['b@1'])
  })

  it('messages that Kafka removed before they were read are reported', async () => {
    const topic = await makeTopic(1)
    const beats: WriteBeat = async () => undefined
    await (await started(topic, beats, { name: 'late' })).running.stop()
    await send(
      topic,
      0,
      canal('INSERT', 'counts', countRow('a', 1)),
      canal('INSERT', 'counts', countRow('b', 1)),
      canal('INSERT', 'counts', countRow('c', 1)),
    )
    const admin = client.admin()
    await admin.connect()
    await admin.fetchTopicOffsets(topic)
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] })
    await admin.disconnect()
    const feed = await started(topic, beats, { name: 'late' })
    await until('the last came', () => feed.counts.length > 0)
    expect(textsOf(feed)).toEqual(['c@1'])
    expect(feed.gaps).toEqual([expect.stringMatching(/removed 2 messages/)])
  })

  it('the error for a missing topic names the topic', async () => {
    await expect(started('nobody-made-it', async () => undefined)).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      message: expect.stringMatching(/nobody-made-it/) as string,
    })
  })
})
