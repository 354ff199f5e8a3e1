import { beforeEach, describe, expect, test } from 'vitest'
import { seenLines } from '../../cli/inspect-seen.ts'
import { makeBusinesses } from '../../config/businesses.ts'
import { makeConfig } from '../../config/config.ts'
import { MARK_MONTH, emptyMark, encodeMark, listingOf } from '../../subgraphs/feed-existence/migration/progress.ts'
import type { SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../harness/models/feed-existence/record-store-model.ts'
import { makeSeenStoreModel } from '../../harness/models/feed-existence/hot-store-model.ts'

const NOW = Date.UTC(2026, 10, 5)
const businesses = makeBusinesses(makeConfig([]).businesses)
const MOVED = new Map([[1, { plays: 12, outside: 3, invalid: 0 }]])

let hot: SeenStore
let records: SeenRecords
beforeEach(() => {
  hot = makeSeenStoreModel(100, { slots: 6, shards: 100 })
  records = openModelSeenRecords(makeSeenRecordsState())
})

const linesOf = (viewer: string): Promise<string[]> => seenLines({ hot, records }, viewer, businesses)

const mark = (viewer: string, filter: Buffer) =>
  records.putFilters([{ viewer, month: MARK_MONTH, filter, expected: 0, expiresAt: NOW * 2 }])
const makeAnew = (viewer: string) => emptyMark(records, viewer, async () => {}, { writesFirst: true, expiresAt: NOW * 2 })

describe('the lines about a viewer and the legacy store', () => {
  test('show a listed viewer as listed', async () => {
    await hot.stagePlays([listingOf('7', 2, NOW), listingOf('7', 1, NOW)], { now: NOW, slot: 3 })
    expect(await linesOf('7')).toEqual(['listed for the migration; the job folds the plays in when the hour is over: article, video'])
  })

  test('show the businesses and the number of plays of a migrated viewer', async () => {
    await mark('7', encodeMark(MOVED))
    expect(await linesOf('7')).toEqual(['migrated from the legacy store: video (12 plays)'])
  })

  test('are empty for an unlisted viewer with a rebuilt filter', async () => {
    await makeAnew('7')
    expect(await records.listFilters(['7'])).toMatchObject([[{ month: MARK_MONTH }]])
    expect(await linesOf('7')).toEqual([])
  })

  test('show a migrated viewer with a rebuilt filter as migrated once more', async () => {
    await mark('7', encodeMark(MOVED))
    await makeAnew('7')
    expect(await linesOf('7')).toEqual(['to be migrated again, because a filter was damaged: video (12 plays before)'])
  })

  test('show an unreadable mark as damaged', async () => {
    await mark('7', Buffer.from('zz'))
    expect(await linesOf('7')).toEqual(['the migration mark is damaged: the viewer counts as not migrated'])
  })
})
