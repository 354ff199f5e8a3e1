/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { FeedRecords } from '../../../subgraphs/feed/stores/record-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedFeedRecords = OpenedStore<FeedRecords>
export type FeedRecordsSubject = StoreSubject<FeedRecords>
