/** The topic of progress, read as a service of analytics would read it, with Kafka up, down and up again. */
import { randomUUID } from 'node:crypto'
import type { Consumer } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeProgressEvent } from '../../subgraphs/history/stores/progress-event-codec.ts'
import type { ProgressEvent } from '../../subgraphs/history/stores/progress-events.ts'
import { makeClient } from '../../stores/kafka/client.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { metricsOf } from '../../harness/deployment/role.ts'
import { ask } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'

const servers = await Promise.all([service('redis'), service('kafka'), service('mariadb')])
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const REPORT =
  'mutation ($id: ID!, $position: Float!) { reportProgress(input: { business: "video", id: $id, position: $position }) { outcome } }'
const VIEWER = '77'

describe.skipIf(servers.includes(undefined))('the topic of progress', () => {
  let deployment: Deployment
  let consumer: Consumer
  const events: ProgressEvent[] = []
  beforeAll(async () => {
    const history = { progressTopic: true, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500 }
    deployment = await startDeployment({ settings: { history } })
    consumer = makeClient({ brokers: [`127.0.0.1:${deployment.servers.kafka.port}`] }, silent).consumer({ groupId: randomUUID() })
    await consumer.connect()
    await consumer.subscribe({ topics: ['tidemark.progress'], fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void events.push(decodeProgressEvent(message.value as Buffer)) })
  })
  afterAll(async () => {
    await consumer?.disconnect()
    await deployment?.remove()
  })

  const url = () => deployment.gateways[0]?.url ?? ''
  async function report(id: string, position: number): Promise<void> {
    const { data } = await ask(url(), VIEWER, REPORT, { id, position })
    expect(data?.reportProgress.outcome).toBe('ACCEPTED')
  }
  const newestOf = (oid: string) =>
    events.flatMap((event) => ('key' in event && event.key.oid === oid ? [event.record] : [])).toSorted((a, b) => b.version - a.version)[0]
  async function unsent(): Promise<number> {
    const roles = await Promise.all([...deployment.gateways, ...deployment.jobs].map((role) => metricsOf(role)))
    return roles.reduce((sum, metrics) => sum + (metrics?.get('tidemark_progress_events_unsent_total') ?? 0), 0)
  }

  it('has the newest content of each persisted record, its deletion, and the clearing of a history', async () => {
    await report('1', 5_000)
    await report('1', 9_000)
    await until('the newest position is in the topic', async () => newestOf('1')?.position === 9_000)
    expect(events.find((event) => 'key' in event)).toMatchObject({ key: { viewer: VIEWER, business: 1, oid: '1' } })
    await ask(url(), VIEWER, 'mutation { deleteHistory(input: { business: "video", ids: ["1"] }) { userErrors { message } } }')
    await until('the deletion is in the topic', async () => newestOf('1')?.deleted === true)
    await ask(url(), VIEWER, 'mutation { clearHistory(input: { business: "video" }) { userErrors { message } } }')
    await until('the clearing is in the topic', async () =>
      events.some((event) => 'settings' in event && (event.settings.clearedAt[1] ?? 0) > 0),
    )
    expect(await unsent()).toBe(0)
  })

  it('without Kafka, progress is persisted and counted as unsent; later progress is in the topic', async () => {
    await deployment.servers.kafka.kill()
    await report('2', 5_000)
    await until('the event that could not be sent is counted', async () => (await unsent()) > 0)
    const { mysql } = deployment.config.stores
    expect(mysql).toBeDefined()
    const stores = await deployment.openStores()
    try {
      const [row] = await stores.records.getProgressMany([{ viewer: VIEWER, business: 1, oid: '2' }])
      expect(row).toMatchObject({ position: 5_000 })
    } finally {
      await stores.close()
    }
    await deployment.servers.kafka.start()
    await until('progress is published again', async () => {
      await report('3', 7_000)
      return newestOf('3')?.position === 7_000
    })
  })
})
