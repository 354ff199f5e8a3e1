/**
 * Tenants on both shapes: a flood of one business is refused by its own quotas, while the writes of the others pass; and an outage of one
 * business's own Redis leaves the others healthy. The statistics of operators show both.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { startRedis } from '../../harness/deployment/redis-servers.ts'
import { ask, makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'
import { until } from '../../harness/until.ts'
import { makeDatabase, mariadb } from '../stores/mysql/databases.ts'

const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'tidemark.ts')
const kafka = await service('kafka')
const QUOTAS = {
  history: { reportsPerSecondMax: 5, recordsMax: 1_000_000 },
  existence: { playsPerSecondMax: 5, issuesPerSecondMax: 5 },
  thumbup: { marksPerSecondMax: 5 },
}
const WRITES = `mutation ($reports: [ReportProgressInput!]!, $marks: [SetMarkInput!]!, $plays: RecordPlayedInput!, $issues: RecordIssuedInput!) {
  reportProgressBatch(input: { reports: $reports }) { results { outcome userErrors { code } } }
  setMarkBatch(input: { marks: $marks }) { results { outcome userErrors { code } } }
  recordPlayed(input: $plays) { userErrors { code } }
  recordIssued(input: $issues) { userErrors { code } }
}`
const STATISTICS = `{ historyTenants { ...all } likesTenants { ...all } existenceTenants { ...all } }
fragment all on TenantStatistics { business accepted overQuota rows bytes hotStoreDownMs logDownMs recordStoreDownMs }`
const ENDS: (() => Promise<unknown> | void)[] = []
afterAll(async () => {
  for (const end of ENDS.splice(0).reverse()) await end()
})

/** All kinds of writes, `count` of each. Returns how often each code occurred, and what the answer lacked. */
async function write(url: string, business: string, viewer: string, count: number) {
  const ids = Array.from({ length: count }, (_, at) => `s${at}`)
  const answer: any = await ask(url, viewer, WRITES, {
    reports: ids.map((id) => ({ business, id, position: 60_000 })),
    marks: ids.map((id) => ({ business, id, mark: 'LIKE' })),
    plays: { business, ids },
    issues: { business, ids },
  })
  expect(answer.errors).toBe(undefined)
  const { reportProgressBatch: reports, setMarkBatch: marks, recordPlayed: plays, recordIssued: issues } = answer.data
  const codes = [...reports.results, ...marks.results, plays, issues].flatMap(({ userErrors }) => userErrors.map((each: any) => each.code))
  return { codes, degraded: answer.extensions?.degraded }
}

async function statisticsOf(url: string) {
  const { data, errors } = await ask(url, 'operator', STATISTICS, {}, { 'x-viewer-scopes': 'operator' })
  expect(errors).toBe(undefined)
  return (capability: string, business: string) => data[capability].find((each: { business: string }) => each.business === business)
}

async function floodsAreRefused(url: string): Promise<void> {
  const flood = await Promise.all(Array.from({ length: 5 }, (_, at) => write(url, 'comic', String(900 + at), 50)))
  const refused = flood.flatMap(({ codes }) => codes)
  expect(new Set(refused)).toEqual(new Set(['QUOTA_EXCEEDED']))
  expect(refused.length).toBeGreaterThan(300)
  for (const viewer of ['1', '2']) expect(await write(url, 'video', viewer, 50)).toEqual({ codes: [], degraded: undefined })

  await until('the rows are summed up', async () => ((await statisticsOf(url))('historyTenants', 'video').rows ?? 0) >= 100)
  const of = await statisticsOf(url)
  for (const capability of ['historyTenants', 'likesTenants', 'existenceTenants']) {
    expect(of(capability, 'video')).toMatchObject({ overQuota: 0, hotStoreDownMs: 0, logDownMs: 0, recordStoreDownMs: 0 })
    expect(of(capability, 'video').accepted).toBeGreaterThanOrEqual(100)
    expect(of(capability, 'comic').overQuota).toBeGreaterThan(50)
  }
  expect(of('historyTenants', 'video')).toMatchObject({ accepted: 100, rows: 100 })
  expect(of('historyTenants', 'video').bytes).toBeGreaterThan(1_000)
  const metrics = await (await fetch(new URL('/metrics', url))).text()
  expect(metrics).toMatch(/^tidemark_tenant_writes_total\{business="video",capability="history",outcome="accepted"\} 100$/m)
  expect(metrics).toMatch(/^tidemark_tenant_writes_total\{business="comic",capability="feed-existence",outcome="over_quota"\} [1-9]/m)
  expect(metrics).toMatch(/^tidemark_tenant_rows\{business="video",capability="history"\} 100$/m)
}

const FAST = { history: { flushAgeMaxMs: 50, sweepAfterMs: 500, sweepEveryMs: 100 } }

test('embedded: a flood of one business is refused by its quotas, and the writes of another pass', async () => {
  const { folder, remove } = makeServiceFolder()
  ENDS.push(remove)
  const businesses = [
    { number: 1, name: 'video', entity: 'Video' },
    { number: 3, name: 'comic', entity: 'Comic', ...QUOTAS },
  ]
  const running = await startService({ folder, settings: { ...FAST, businesses, stores: { regions: 4 } } })
  ENDS.push(running.kill)
  await floodsAreRefused(running.url)
  const { errors } = await ask(running.url, '7', '{ historyTenants { business } }')
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHORIZED_FIELD_OR_TYPE'])
})

describe.skipIf(kafka === undefined || mariadb === undefined)('distributed', () => {
  test('a flood of one business and an outage of the own Redis of another one leave the third healthy', async () => {
    const { folder, remove } = makeServiceFolder()
    ENDS.push(remove)
    const [common, own, database] = await Promise.all([startRedis(), startRedis(), makeDatabase()])
    let isOwnUp = true
    ENDS.push(common.stop, () => (isOwnUp ? own.stop() : undefined), database.drop)
    const settings = {
      ...FAST,
      businesses: [
        { number: 1, name: 'video', entity: 'Video' },
        { number: 2, name: 'article', entity: 'Article', thumbup: { stores: { redis: { urls: own.urls } } } },
        { number: 3, name: 'comic', entity: 'Comic', ...QUOTAS },
      ],
      stores: {
        regions: 4,
        redis: { urls: common.urls },
        kafka: { brokers: [kafka], topicPrefix: `flood-${process.pid}-${Date.now()}`, partitions: 2, replicationFactor: 1 },
        mysql: { url: database.url },
      },
    }
    writeFileSync(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
    await promisify(execFile)(process.execPath, [COMMAND, 'migrate', '--config', join(folder, 'tidemark.yaml')], { cwd: folder })
    const running = await startService({ folder, settings })
    ENDS.push(running.kill)
    await floodsAreRefused(running.url)

    expect(await write(running.url, 'article', '3', 2)).toEqual({ codes: [], degraded: undefined })
    await own.stop()
    isOwnUp = false
    await until('the outage shows', async () => {
      expect((await write(running.url, 'article', '3', 2)).codes).toEqual([])
      return (await statisticsOf(running.url))('likesTenants', 'article').hotStoreDownMs > 0
    })
    expect(await write(running.url, 'video', '4', 20)).toEqual({ codes: [], degraded: undefined })
    const of = await statisticsOf(running.url)
    expect(of('likesTenants', 'video').hotStoreDownMs).toBe(0)
    // Only the marks of the business have stores of their own.
    expect(of('historyTenants', 'article').hotStoreDownMs).toBe(0)
  })
})
