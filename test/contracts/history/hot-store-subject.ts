/** What an adapter opens for the contract suite, and what the parts of the suite work with. */
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedHotStore = OpenedStore<HotStore>

export type HotStoreSubject = StoreSubject<HotStore>
