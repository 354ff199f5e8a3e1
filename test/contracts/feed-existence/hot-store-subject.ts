/** What an adapter opens for the contract suite, and what the parts of the suite work with. */
import type { RingShape, SeenStore } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedSeenStore = OpenedStore<SeenStore, [shape?: RingShape]>

export type SeenStoreSubject = StoreSubject<SeenStore, [shape?: RingShape]> & { shape: () => RingShape }
