/** What an adapter opens for the contract suite, and what the parts of the suite work with. */
import type { FilterKey, SeenRecords } from '../../../subgraphs/feed-existence/stores/record-store.ts'

export type OpenedSeenRecords = {
  store: SeenRecords
  /** The same data, over connections of its own. */
  second: SeenRecords
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<SeenRecords>
  /** As by a disk, past the store: these come in the place of all bytes that are stored of a filter, which is there. */
  damage(key: FilterKey, bytes: Buffer): Promise<void>
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of the suite work with; the store changes when it is opened again. */
export type SeenRecordsSubject = {
  store: () => SeenRecords
  second: () => SeenRecords
  reopen: () => Promise<SeenRecords>
  damage: OpenedSeenRecords['damage']
}
