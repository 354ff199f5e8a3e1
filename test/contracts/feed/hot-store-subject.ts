/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { FeedHotStore } from '../../../subgraphs/feed/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedFeedStore = OpenedStore<FeedHotStore>

export type FeedStoreSubject = StoreSubject<FeedHotStore>
