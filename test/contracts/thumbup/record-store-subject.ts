/** Types of the contract suite: the store that an adapter opens, and the subject that the parts of the suite use. */
import type { Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'

/** Writes that bypass the port, like those of a bug or an operator. */
export type PlantedDrift = {
  /** The subject must have counts. */
  counts(subject: Subject, wrong: Pick<SubjectCounts, 'likes' | 'dislikes'>): Promise<void>
  /** The owner must have a sum. */
  ownerSum(owner: { business: number; owner: ViewerId }, likes: number): Promise<void>
}

export type OpenedMarkRecords = {
  store: MarkRecords
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<MarkRecords>
  plant: PlantedDrift
  /** Closes all open handles and removes the data of the suite. */
  dispose(): Promise<void>
}

/** The subject of the parts of the suite. The store changes when it is reopened. */
export type MarkRecordsSubject = {
  store: () => MarkRecords
  reopen: () => Promise<MarkRecords>
  plant: () => PlantedDrift
}
