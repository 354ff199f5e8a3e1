/** What an adapter opens for the contract suite, and what the parts of the suite work with. */
import type { Subject, SubjectCounts, ViewerId } from '../../../core/domain.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'

/** Writes past the port, as a bug or an operator would. */
export type PlantedDrift = {
  /** The subject has counts already. */
  counts(subject: Subject, wrong: Pick<SubjectCounts, 'likes' | 'dislikes'>): Promise<void>
  /** The owner has a sum already. */
  ownerSum(owner: { business: number; owner: ViewerId }, likes: number): Promise<void>
}

export type OpenedMarkRecords = {
  store: MarkRecords
  /** Closes `store` and opens the same data again. */
  reopen(): Promise<MarkRecords>
  plant: PlantedDrift
  /** Closes what is open and removes what was made for the suite. */
  dispose(): Promise<void>
}

/** What the parts of the suite work with; the store changes when it is opened again. */
export type MarkRecordsSubject = {
  store: () => MarkRecords
  reopen: () => Promise<MarkRecords>
  plant: () => PlantedDrift
}
