/** Reports that history has written, as feed existence receives them. */
import type { ProgressRecord, ProgressRow } from './domain.ts'

/** Takes what was read of the keys of a step, for feed existence. Repetitions are as good as the first; durable when it resolves. */
export type RecordPlays = (rows: readonly ProgressRow[]) => Promise<void>

/** A written report: the record now, and the record before it, if a reader needed to know it. */
export type WrittenReport = ProgressRow & { before: ProgressRecord | undefined }

/**
 * Stages the subjects that these reports made count as played, for feed existence. In their order, the day of each play that is staged
 * now (`FlushedKey`), undefined of the others. Never rejects: `RecordPlays` stages the rest.
 */
export type StageWritten = (written: readonly WrittenReport[]) => Promise<readonly (number | undefined)[]>
