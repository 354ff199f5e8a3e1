/** A business gets its own stores, or loses them, while its marks wait in a journal: each mark reaches the current stores. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { join } from 'node:path'
import { makeConfig, type Config } from '../../../config/config.ts'
import type { MarkKey } from '../../../core/domain.ts'
import { markEntries } from '../../../subgraphs/thumbup/write/journaled-marks.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import { openMarkJournals } from '../../../cli/stores/thumbup.ts'
import { until } from '../../../harness/until.ts'
import { openMarkedStores, serveThumbup, thumbupConfig, viewerOf, type MarkedStores } from './marked-stores.ts'

const ARTICLE = 2
const MARK = 'mutation { setMark(input: { business: "article", id: "s", mark: LIKE }) { outcome } }'
const READ = '{ subjects(business: "article", ids: ["s"]) { viewerMark } }'
const S: MarkKey = { viewer: '7', business: ARTICLE, oid: 's' }
const entry = (business: number, oid: string, markedAt: number): JournalEntry =>
  markEntries([{ viewer: '7', business, oid, mark: 'LIKE', markedAt }], markedAt)[0] as JournalEntry
const said = (errors: unknown[]): string[] => errors.map(String).filter((text) => text.includes('in the journal of its former stores'))

describe('marks that wait in a journal', () => {
  let [common, own]: MarkedStores[] = []
  beforeEach(() => {
    common = openMarkedStores({ records: 'lmdb' })
    own = openMarkedStores({ records: 'lmdb' })
  })
  afterEach(() => Promise.all([common?.close(), own?.close()]))

  const stored = (stores: MarkedStores, key: MarkKey) => async (): Promise<boolean> =>
    (await stores.plain.records.getMarkMany([key]))[0]?.mark === 'LIKE'

  it('go only into the new stores of their business, and the move is logged', async () => {
    const first = serveThumbup(common!, thumbupConfig())
    common!.set('redis', 'down')
    expect((await first.ask(MARK, viewerOf('7'))).data.setMark.outcome).toBe('ACCEPTED')
    await first.stop()
    common!.set('redis', 'up')

    const second = serveThumbup(common!, thumbupConfig(), { tenants: new Map([[ARTICLE, own!.stores]]) })
    const job = await second.subgraph.startJob()
    await until('the mark is in the record store of its business', stored(own!, S))
    expect((await second.ask(READ, viewerOf('7'))).data.subjects[0].viewerMark).toBe('LIKE')
    expect(await common!.plain.hot.countDirtyMarks()).toBe(0)
    expect(said(second.errors)).toHaveLength(1)
    await until('it left the journal', () => second.subgraph.figures().journal.replayed === 1)
    await job.stop()
    await second.stop()
  })

  it('go back into the common stores when their business has no own stores any more', async () => {
    const article = openLmdbJournals(join(own!.folder, 'marks-article'))
    await article.own.append([entry(ARTICLE, 's', 1_790_000_000_000)])
    await article.close()
    const served = serveThumbup(common!, thumbupConfig(), { abandoned: [join(own!.folder, 'marks-article')] })
    const job = await served.subgraph.startJob()
    await until('the mark is in the common record store', stored(common!, S))
    await job.stop()
    await served.stop()
  })

  it('stay while the stores of their business are down, block no other mark of their viewer, and go once the stores are back', async () => {
    const left = openLmdbJournals(common!.folder)
    await left.own.append([entry(ARTICLE, 's', 1_790_000_000_000), entry(1, 'v', 1_790_000_000_001)])
    await left.close()
    own!.set('redis', 'down')
    const served = serveThumbup(common!, thumbupConfig(), { tenants: new Map([[ARTICLE, own!.stores]]) })
    const job = await served.subgraph.startJob()
    await until('the other mark is stored', stored(common!, { viewer: '7', business: 1, oid: 'v' }))
    await until('it left the journal', () => served.subgraph.figures().journal.replayed === 1)
    expect(served.subgraph.figures().journal.parked).toBe(0)
    own!.set('redis', 'up')
    await until('this one is, too', stored(own!, S))
    await job.stop()
    await served.stop()
  })

  it('in the common journals are found only if their business has no own stores', async () => {
    const redis = { urls: ['redis://127.0.0.1:1'] }
    const data = own!.folder
    const configOf = (thumbup: object): Config => {
      const stores = { data, redis, kafka: { brokers: ['127.0.0.1:1'] }, mysql: { url: 'mysql://u@127.0.0.1:1/d' } }
      const businesses = [
        { number: 1, name: 'video', entity: 'Video' },
        { number: ARTICLE, name: 'article', entity: 'Article', thumbup },
      ]
      return makeConfig([{ name: 'test', values: { stores, businesses } }])
    }
    const before = configOf({ stores: { redis: { urls: ['redis://127.0.0.1:2'] } } })
    const article = openMarkJournals(before, before.businesses[1])
    await article?.own.append([entry(ARTICLE, 's', 1_790_000_000_000)])
    const after = openMarkJournals(configOf({}))
    expect(await after?.adopt()).toBeUndefined()
    await article?.close()

    const unmoved = openMarkJournals(before)
    expect(await unmoved?.adopt()).toBeUndefined()
    const adopted = await after?.adopt()
    expect(await adopted?.list(0, 10)).toMatchObject([{ entry: entry(ARTICLE, 's', 1_790_000_000_000) }])
    await adopted?.close()
    await Promise.all([after?.close(), unmoved?.close()])
  })
})
