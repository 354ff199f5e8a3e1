/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { FilterKey, SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'

export type OpenedSeenRecords = {
  store: SeenRecords
  /** The same data over separate connections. */
  second: SeenRecords
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<SeenRecords>
  /** Replaces the stored bytes of an existing filter, bypassing the store, as a damaged disk does. */
  damage(key: FilterKey, bytes: Buffer): Promise<void>
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

/** The subject of the parts of the suite. The store changes when it is reopened. */
export type SeenRecordsSubject = {
  store: () => SeenRecords
  second: () => SeenRecords
  reopen: () => Promise<SeenRecords>
  damage: OpenedSeenRecords['damage']
}
