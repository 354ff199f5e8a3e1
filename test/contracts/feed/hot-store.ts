/**
 * The contract of the feed's hot store port, run unchanged by every adapter:
 *
 *     feedStoreContract('lmdb', async () => ({ store, regions: 100, another, reopen, dispose }))
 *
 * `open` runs once per suite. The store may hold data of earlier runs, but no other process writes to it during the suite. The suite uses
 * its own viewers. Purges forget everything that is clean and old.
 */
import { beforeAll, describe } from 'vitest'
import { graphKey } from '../../../subgraphs/feed/model/cache-keys.ts'
import type { FeedHotStore } from '../../../subgraphs/feed/stores/hot-store.ts'
import { describeStore } from '../opened-store.ts'
import { freshViewerIn } from '../reports.ts'
import { feedConcurrencyContract } from './hot-store-concurrency.ts'
import { changesContract } from './hot-store-changes.ts'
import { inboxContract } from './hot-store-inboxes.ts'
import { feedPersistingContract } from './hot-store-persisting.ts'
import { postsContract } from './hot-store-posts.ts'
import { feedPropertyContract } from './hot-store-property.ts'
import { feedPurgingContract } from './hot-store-purging.ts'
import { optionsAt } from './posts.ts'
import type { OpenedFeedStore } from './hot-store-subject.ts'

export function feedStoreContract(name: string, open: () => Promise<OpenedFeedStore>): void {
  describeStore(`feed's hot store contract: ${name}`, open, (subject) => {
    beforeAll(() => beginClocks(subject.store(), subject.regions()))
    describe('posts and outboxes', () => postsContract(subject))
    describe('inboxes and filter words', () => inboxContract(subject))
    describe('noted changes', () => changesContract(subject))
    describe('persisting', () => feedPersistingContract(subject))
    describe('purging', () => feedPurgingContract(subject))
    describe('concurrent calls', () => feedConcurrencyContract(subject))
    describe('against a model', () => feedPropertyContract(subject))
  })
}

/** The first answer of a new region may be partial, so each region gets a change before the tests. */
async function beginClocks(store: FeedHotStore, regions: number): Promise<void> {
  for (let region = 0; region < regions; region++) {
    const viewer = freshViewerIn(region, regions)
    await store.noteChange(viewer, graphKey(viewer), optionsAt())
  }
}
