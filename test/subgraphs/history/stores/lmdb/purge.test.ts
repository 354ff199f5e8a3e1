import { expect, onTestFinished, test } from 'vitest'
import { openLmdbHotStore } from '../../../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openHotTables } from '../../../../../subgraphs/history/stores/lmdb/work.ts'
import { openEnvironment } from '../../../../../stores/lmdb/environment.ts'
import { keyOf, report } from '../../../../contracts/reports.ts'
import { makeFolder } from '../../../../stores/lmdb/folders.ts'

const DAY_MS = 86_400_000
const NOW = 1_790_000_000_000

test('nothing is left of a viewer whose entries, trimmed ones included, have expired', async () => {
  const folder = makeFolder()
  const environment = openEnvironment(folder.path, { regions: 4, sizeMaxGb: 1 })
  onTestFinished(async () => {
    await environment.close()
    folder.remove()
  })
  const store = openLmdbHotStore(environment)
  const rows = ['1', '2', '3'].map((oid, at) => ({ key: keyOf('9', oid), record: report(NOW + at, { version: (NOW + at) * 1_024 }) }))
  await store.fillProgress(rows, { now: NOW, timelineCap: 2 })
  const late = { key: keyOf('9', 'late'), record: report(NOW - 1, { version: (NOW + 80 * DAY_MS) * 1_024 }) }
  await store.fillProgress([late], { now: NOW + 80 * DAY_MS, timelineCap: 2 })

  const { viewers } = openHotTables(environment)
  const keysAfterPurgeAt = async (day: number) => {
    while ((await store.purgeExpired(NOW + day * DAY_MS, 100)) > 0);
    return [...viewers.getKeys({})].length
  }
  expect(await keysAfterPurgeAt(1)).toBe(1)
  expect((await store.listTimeline('9', [1], undefined, 10)).truncated).toHaveLength(1)
  expect(await keysAfterPurgeAt(81)).toBe(0)
})
