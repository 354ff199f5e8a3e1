/** Kafka down, and the process with the aggregated keys killed: the sweeper of the job persists the keys that only dirty marks record. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { ask } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'

const servers = await Promise.all([service('redis'), service('kafka'), service('mariadb')])
const VIEWERS = Array.from({ length: 10 }, (_, index) => String(index + 1))
const REPORT = 'mutation ($reports: [ReportProgressInput!]!) { reportProgressBatch(input: { reports: $reports }) { results { outcome } } }'

describe.skipIf(servers.includes(undefined))('with Kafka down', () => {
  let deployment: Deployment
  let records: RecordStore
  beforeAll(async () => {
    deployment = await startDeployment({ settings: { history: { flushAgeMaxMs: 8_000, sweepAfterMs: 8_500, sweepEveryMs: 500 } } })
    const { mysql, regions } = deployment.config.stores
    if (mysql === undefined) throw new Error('a deployment has MariaDB')
    records = await openMysqlRecordStore({ ...mysql, regions }, systemClock)
  })
  afterAll(async () => {
    await records.close()
    await deployment.remove()
  })

  /** One acknowledged report of each viewer. */
  async function reportAll(oid: string): Promise<void> {
    const reports = [{ business: 'video', id: oid, position: 60_000 }]
    for (const viewer of VIEWERS) {
      const { data } = await ask(deployment.gateways[0]?.url ?? '', viewer, REPORT, { reports })
      expect(data?.reportProgressBatch.results).toEqual([{ outcome: 'ACCEPTED' }])
    }
  }

  async function persisted(oid: string): Promise<number> {
    const rows = await records.getProgressMany(VIEWERS.map((viewer) => ({ viewer, business: 1, oid })))
    return rows.filter((row) => row !== undefined).length
  }

  it('keys held by a killed gateway are persisted, by a running job and by one that starts without Kafka', async () => {
    const { gateways, jobs } = deployment
    const [gateway, job] = [gateways[0], jobs[0]]
    await deployment.servers.kafka.kill()
    await reportAll('before')
    await gateway?.kill()
    expect(await persisted('before')).toBe(0)
    await until('the job that ran has swept them', async () => (await persisted('before')) === VIEWERS.length)
    await gateway?.start()
    await reportAll('after')
    await gateway?.kill()
    await job?.kill()
    await job?.start()
    await until('the job that started without Kafka has swept them', async () => (await persisted('after')) === VIEWERS.length)
  })
})
