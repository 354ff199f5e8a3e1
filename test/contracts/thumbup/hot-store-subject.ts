/** What an adapter opens for the contract suite, and what the parts of the suite work with. */
import type { MarkStore } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedMarkStore = OpenedStore<MarkStore>

export type MarkStoreSubject = StoreSubject<MarkStore>
