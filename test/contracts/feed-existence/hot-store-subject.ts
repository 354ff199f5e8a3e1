/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { RingShape, SeenStore } from '../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedSeenStore = OpenedStore<SeenStore, [shape?: RingShape]>

export type SeenStoreSubject = StoreSubject<SeenStore, [shape?: RingShape]> & { shape: () => RingShape }
