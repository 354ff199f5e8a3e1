import { describe, expect, test } from 'vitest'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf } from './marked-stores.ts'

describe('a tenant with stores of its own', () => {
  test('is alone with its outage: reads and marks of others continue', async () => {
    const [common, own] = [openMarkedStores(), openMarkedStores()]
    const served = serveThumbup(common, thumbupConfig(), { tenants: new Map([[2, own.stores]]) })
    const job = await served.subgraph.startJob()
    for (const name of ['hot', 'cache', 'log', 'records', 'events'] as const) own.set(name, 'down')
    const marks = ['video', 'article'].map((business) => ({ business, id: 'a', mark: 'LIKE' }))
    const marked = await served.ask(
      'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome userErrors { code path } } userErrors { code } } }',
      viewerOf('7'),
      { marks },
    )
    expect([marked.data, marked.errors]).toEqual([
      {
        setMarkBatch: {
          results: [
            { outcome: 'ACCEPTED', userErrors: [] },
            { outcome: 'REJECTED', userErrors: [{ code: 'HOT_STORE_UNAVAILABLE', path: ['input', 'marks', '1'] }] },
          ],
          userErrors: [],
        },
      },
      [],
    ])
    const register =
      'mutation ($subjects: [RegisterSubjectInput!]!) { registerSubjects(input: { subjects: $subjects }) { results { registered userErrors { code path } } } }'
    const registered = await served.ask(register, viewerOf('svc', 'subjects:register'), {
      subjects: ['video', 'article'].map((business) => ({ business, id: 'a', owner: '9' })),
    })
    expect(registered.data.registerSubjects.results).toEqual([
      { registered: true, userErrors: [] },
      { registered: false, userErrors: [{ code: 'RECORD_STORE_UNAVAILABLE', path: ['input', 'subjects', '1'] }] },
    ])
    const both = await served.ask(
      '{ a: subjects(business: "video", ids: ["a"]) { likeCount viewerMark } b: subjects(business: "article", ids: ["a"]) { likeCount viewerMark } }',
      viewerOf('7'),
    )
    expect(both.errors).toEqual([])
    expect(both.data).toEqual({ a: [{ likeCount: 1, viewerMark: 'LIKE' }], b: [{ likeCount: null, viewerMark: null }] })
    await until('the others are persisted', async () => (await common.plain.hot.countDirtyMarks()) === 0)
    for (const name of ['hot', 'cache', 'log', 'records', 'events'] as const) own.set(name, 'up')
    await served.stop()
    await job.stop()
    await Promise.all([common.close(), own.close()])
  })

  test.each([
    ['its own log', 'article', 'video'],
    ['the log of the others', 'video', 'article'],
  ])('reports that a log is down only with the marks that would use it: %s', async (_, without, other) => {
    const [common, own] = [openMarkedStores(), openMarkedStores()]
    const served = serveThumbup(common, thumbupConfig(), { tenants: new Map([[2, own.stores]]) })
    const degradedOf = async (...businesses: string[]) => {
      const marks = businesses.map((business) => ({ business, id: 'a', mark: 'LIKE' }))
      const source = 'mutation ($marks: [SetMarkInput!]!) { setMarkBatch(input: { marks: $marks }) { results { outcome } } }'
      const { data, degraded } = await served.ask(source, viewerOf('7'), { marks })
      expect(data.setMarkBatch.results.map(({ outcome }: { outcome: string }) => outcome)).toEqual(businesses.map(() => 'ACCEPTED'))
      return degraded
    }
    const missing = without === 'article' ? own : common
    missing.set('log', 'down')
    await until('the log is known to be down', async () => (await degradedOf(without)).includes('log'))
    expect(await degradedOf(other)).toEqual([])
    expect(await degradedOf(other, without)).toEqual(['log'])
    missing.set('log', 'up')
    await served.stop()
    await Promise.all([common.close(), own.close()])
  })

  test('that shares the hot store persists only its own marks, and marks of others do not hide them', async () => {
    const [common, own] = [openMarkedStores(), openMarkedStores()]
    const config = thumbupConfig({ thumbup: { flushAgeMaxMs: 5, windowMs: 20, sweepAfterMs: 50, sweepEveryMs: 20, persistKeysMax: 3 } })
    const shared = { ...own.stores, hot: common.stores.hot }
    const served = serveThumbup(common, config, { tenants: new Map([[2, shared]]) })
    own.set('records', 'down')
    const now = Date.now()
    const writes = (business: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({
        viewer: '4',
        business,
        oid: `s${at}`,
        mark: 'LIKE' as const,
        markedAt: now,
        blind: true as const,
      }))
    await common.plain.hot.putMarks(writes(2, 50), { now: now - 1_000, cap: 100 })
    await common.plain.hot.putMarks(writes(1, 5), { now, cap: 100 })
    const job = await served.subgraph.startJob()
    await until('the others are persisted', async () => (await common.plain.hot.countDirtyMarks()) === 50)
    expect(await common.plain.records.exportMarks(2, undefined, 100)).toEqual([])
    own.set('records', 'up')
    await until('all are persisted', async () => (await common.plain.hot.countDirtyMarks()) === 0)
    expect(await common.plain.records.exportMarks(2, undefined, 100)).toEqual([])
    expect(await own.plain.records.exportMarks(2, undefined, 100)).toHaveLength(50)
    await served.stop()
    await job.stop()
    await Promise.all([common.close(), own.close()])
  })
})
