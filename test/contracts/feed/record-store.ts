/**
 * The contract of the record store of the feed, run unchanged by every adapter:
 *
 *     feedRecordsContract('mariadb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. No other process writes to the store during the suite, and every test has its own authors and viewers.
 * Purging affects all tombstones, so each test that purges has tombstones of its own time.
 */
import { describe, expect, it } from 'vitest'
import { describeStore } from '../opened-store.ts'
import { feedListsContract } from './record-store-lists.ts'
import { feedRowsContract } from './record-store-rows.ts'
import { feedSequencesContract } from './record-store-sequences.ts'
import type { FeedRecordsSubject, OpenedFeedRecords } from './record-store-subject.ts'

export function feedRecordsContract(name: string, open: () => Promise<OpenedFeedRecords>): void {
  describeStore(`feed records contract: ${name}`, open, (subject: FeedRecordsSubject) => {
    describe('rows', () => feedRowsContract(subject))
    describe('lists', () => feedListsContract(subject))
    describe('against a model', () => feedSequencesContract(subject))

    it('an available store passes its check, and empty calls return nothing', async () => {
      const store = subject.store()
      await store.check()
      await store.putPosts([])
      await store.putWords([])
      expect(await store.getPostMany([])).toEqual([])
      expect(await store.getWordsMany([])).toEqual([])
      expect(await store.listOutboxMany([], undefined, 10)).toEqual([])
      expect(await store.listInboxMany([], undefined, 10)).toEqual([])
    })
  })
}
