import { expect, test } from 'vitest'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { countEntries } from '../../../../../stores/lmdb/scan.ts'
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
