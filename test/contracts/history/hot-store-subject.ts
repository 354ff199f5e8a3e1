/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedHotStore = OpenedStore<HotStore>

export type HotStoreSubject = StoreSubject<HotStore>
