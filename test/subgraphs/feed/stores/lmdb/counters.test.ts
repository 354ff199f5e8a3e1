import { expect, test } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { countEntries } from '../../../../../stores/lmdb/scan.ts'
import { makeCounterSchema } from '../../../../../subgraphs/feed/packed/counter-schema.ts'
import { openLmdbCounterRecords } from '../../../../../subgraphs/feed/stores/lmdb/counters/counter-records.ts'
import { openLmdbCounterStore } from '../../../../../subgraphs/feed/stores/lmdb/counters/counter-store.ts'
import { counterRecordsContract } from '../../../../contracts/feed/counter-records.ts'
import { COUNTER_REGIONS, SCHEMAS, ZERO, eventOf, freshSubject } from '../../../../contracts/feed/counter-samples.ts'
import { counterStoreContract } from '../../../../contracts/feed/counter-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

counterStoreContract('lmdb', () => {
  const folder = makeFolder()
  const open = () => {
    const environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
    return { ...openLmdbCounterStore(environment, SCHEMAS), close: () => environment.close() }
  }
  return openedBy(COUNTER_REGIONS, open, folder.remove)
})

counterRecordsContract('lmdb', () => {
  const folder = makeFolder()
  const open = () => {
    const environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
    return { ...openLmdbCounterRecords(environment), close: () => environment.close() }
  }
  return openedBy(COUNTER_REGIONS, open, folder.remove)
})

test('events of old periods are removed by later calls', async () => {
  const folder = makeFolder()
  const environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
  const store = openLmdbCounterStore(environment, SCHEMAS, 1_000)
  const post = freshSubject()
  await store.fillTotals([{ subject: post, counts: ZERO, version: 0 }])
  const events = Array.from({ length: 50 }, () => eventOf(post, 1))
  await store.adjust(events, 1_000_000)
  for (let call = 0; call < 5; call++) await store.adjust([eventOf(post, 1)], 1_003_000)
  expect(countEntries(environment.table('feed-counts-events'))).toBe(5)
  expect(await store.adjust(events.slice(0, 1), 1_003_000)).toEqual(['counted'])
  await environment.close()
  folder.remove()
})

test.each([
  ['wider and in another order', { read: 40, like: 24, comment: 20, repost: 24 }],
  ['narrower than their totals', { repost: 2, comment: 2, like: 2, read: 2 }],
  ['as many bytes as before', { repost: 4, comment: 4, like: 24, read: 32 }],
])('counters that become %s keep their totals, their versions and their dirty marks', async (_, bits) => {
  const folder = makeFolder()
  const open = (schemas = SCHEMAS) => {
    const environment = openEnvironment(folder.path, { regions: COUNTER_REGIONS, sizeMaxGb: 1 })
    return { ...openLmdbCounterStore(environment, schemas), close: () => environment.close() }
  }
  const counts = { repost: 9, comment: 17, like: 3, read: 2 ** 33 }
  const posts = Array.from({ length: 50 }, (_each, at) => freshSubject(at % 2 === 1))
  const other = { ...freshSubject(), business: 9 }
  const first = open()
  await first.fillTotals([
    ...posts.map((subject) => ({ subject, counts, version: 7 })),
    { subject: other, counts: { view: 5 }, version: 0 },
  ])
  await first.adjust(
    posts.slice(0, 9).map((post) => eventOf(post, 1)),
    1_000_000,
  )
  const dirty = await first.readDirty(posts)
  await first.close()

  const changed = open(new Map([...SCHEMAS, [4, makeCounterSchema<string>({ ...bits, share: 8 })]]))
  const now = posts.map((_each, at) => ({ ...counts, read: counts.read + (at < 9 ? 1 : 0), share: 0 }))
  expect(await changed.getMany([...posts, other])).toEqual([...now, { view: 5 }])
  expect(await changed.readDirty(posts)).toEqual(dirty.map((each, at) => each && { ...each, counts: now[at] }))
  expect(await changed.adjust([eventOf(posts[10] as (typeof posts)[0], 4, 'share')], 1_000_000)).toEqual(['counted'])
  await changed.close()

  const back = open()
  expect(await back.getMany([...posts, other])).toEqual([...now.map(({ share: _share, ...each }) => each), { view: 5 }])
  await back.close()
  folder.remove()
})
