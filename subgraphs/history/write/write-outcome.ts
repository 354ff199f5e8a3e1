/** The result of one write of progress. */
import type { ProgressRecord } from '../../../core/domain.ts'
import type { PutOutcome } from '../stores/hot-store.ts'

/** `stagedOn`: as of `FlushedKey`. */
export type WriteOutcome = (PutOutcome & { stagedOn?: number }) | { status: 'journaled'; record: ProgressRecord }
