/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { MarkStore } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import type { OpenedStore, StoreSubject } from '../opened-store.ts'

export type OpenedMarkStore = OpenedStore<MarkStore>

export type MarkStoreSubject = StoreSubject<MarkStore>
