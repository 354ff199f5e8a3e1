/** The metrics of marks for a business with its own stores: on the embedded stores, switched off like servers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Registry } from '@prometheus-io/client'
import { addMarkJobMetrics, addMarkMetrics, type MeasuredMarkStores } from '../../../cli/metrics/mark-metrics.ts'
import { measuredOf } from '../../../cli/process/subgraphs.ts'
import { makeConfig } from '../../../config/config.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import type { ThumbupJob } from '../../../subgraphs/thumbup/persist/job.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores } from '../../subgraphs/thumbup/marked-stores.ts'

const ARTICLE = 2
const idle = { figures: () => new Proxy({}, { get: () => 0 }) } as unknown as ThumbupJob

async function lines(registry: Registry, name: string): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
}

describe('with a business that has its own stores', () => {
  let [common, own]: MarkedStores[] = []
  beforeEach(() => {
    common = openMarkedStores({ records: 'lmdb' })
    own = openMarkedStores({ records: 'lmdb' })
  })
  afterEach(() => Promise.all([common?.close(), own?.close()]))

  function told(stores: readonly MeasuredMarkStores[]): Registry {
    const registry = new Registry()
    addMarkJobMetrics(registry, idle, stores)
    return registry
  }

  test('a shared store is counted once, and an own store under the name of its business', async () => {
    const article = { ...common!.stores, log: own!.stores.log, records: own!.stores.records }
    const served = serveThumbup(common!, thumbupConfig(), { journal: false, tenants: new Map([[ARTICLE, article]]) })
    for (const id of ['a', 'b', 'c'])
      await served.ask(`mutation { setMark(input: { business: "video", id: "${id}", mark: LIKE }) { outcome } }`, viewerOf('7'))
    const config = makeConfig([
      {
        name: 'test',
        values: {
          stores: { redis: { urls: ['redis://a'] }, kafka: { brokers: ['b:1'] }, mysql: { url: 'mysql://u@h/d' } },
          businesses: [
            { number: 1, name: 'video', entity: 'Video' },
            { number: ARTICLE, name: 'article', entity: 'Article', thumbup: { stores: { mysql: { url: 'mysql://u@article/d' } } } },
          ],
        },
      },
    ])
    const registry = told(measuredOf(config, { marks: common!.stores, tenants: new Map([[ARTICLE, article]]) }))
    expect(await lines(registry, 'tidemark_dirty_marks')).toEqual(['tidemark_dirty_marks{business=""} 3'])
    expect((await lines(registry, 'tidemark_marks_outbox')).sort()).toEqual([
      'tidemark_marks_outbox{business=""} 0',
      'tidemark_marks_outbox{business="article"} 0',
    ])
    expect(await lines(registry, 'tidemark_marks_log_lag_messages')).toHaveLength(2)
    await served.stop()
  })

  test('a failed hot store of the business affects only its own figure', async () => {
    const served = serveThumbup(common!, thumbupConfig(), { journal: false })
    await served.ask('mutation { setMark(input: { business: "video", id: "a", mark: LIKE }) { outcome } }', viewerOf('7'))
    own!.set('redis', 'down')
    const registry = told([
      { business: '', ...common!.stores },
      { business: 'article', ...own!.stores },
    ])
    expect((await lines(registry, 'tidemark_dirty_marks')).sort()).toEqual([
      'tidemark_dirty_marks{business=""} 1',
      expect.stringMatching(/^tidemark_dirty_marks\{business="article"\} nan$/i),
    ])
    await served.stop()
  })

  test('journaled marks of the business are counted', async () => {
    const journals = openLmdbJournals(own!.folder)
    const served = serveThumbup(common!, thumbupConfig(), { journal: false, tenants: new Map([[ARTICLE, { ...own!.stores, journals }]]) })
    own!.set('redis', 'down')
    await served.ask('mutation { setMark(input: { business: "article", id: "s", mark: LIKE }) { outcome } }', viewerOf('7'))
    const registry = new Registry()
    addMarkMetrics(registry, served.subgraph, [journals])
    expect(await lines(registry, 'tidemark_marks_journaled_entries_total')).toEqual(['tidemark_marks_journaled_entries_total 1'])
    expect(await lines(registry, 'tidemark_marks_journal_waiting_entries')).toEqual(['tidemark_marks_journal_waiting_entries 1'])
    await served.stop()
    await journals.close()
  })
})
