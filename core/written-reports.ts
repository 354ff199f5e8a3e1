/** Reports that history has written, as feed existence receives them. */
import type { ProgressRecord, ProgressRow } from './domain.ts'

/** Takes the records of a persist step, for feed existence. A repetition has no further effect; durable when it resolves. */
export type RecordPlays = (rows: readonly ProgressRow[]) => Promise<void>

/** A written report: the record now, and the record before it, if a reader needed to know it. */
export type WrittenReport = ProgressRow & { before: ProgressRecord | undefined }

/**
 * Stages the subjects of these reports that count as played now, for feed existence. Returns, in their order, the day of each play that is
 * staged now (`FlushedKey`), undefined for the others. Never rejects: `RecordPlays` stages the rest.
 */
export type StageWritten = (written: readonly WrittenReport[]) => Promise<readonly (number | undefined)[]>
