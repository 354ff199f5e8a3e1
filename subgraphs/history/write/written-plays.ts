/**
 * Stages plays with their reports, so that feeds hide a play from the acknowledgement of its report on. Each put passes the written
 * records, with their previous records, to feed existence (`StageWritten`) before the caller has the answer. If staging fails, the report
 * is still acknowledged: the persist step (`subgraphs/history/persist/persist.ts`) stages each play that is not noted as staged here.
 */
import type { FlushedKey, ProgressKey } from '../../../core/domain.ts'
import type { ProgressWrite } from '../stores/hot-store.ts'
import type { HistoryWrites } from './writes.ts'
import type { StageWritten, WrittenReport } from '../../../core/written-reports.ts'
import type { WriteOutcome } from './write-outcome.ts'

/** `writes`, with puts whose plays are staged. */
export function stagingWrites(writes: HistoryWrites, stage: StageWritten | undefined): HistoryWrites {
  if (stage === undefined) return writes
  return {
    ...writes,
    async put(reports, now, degraded) {
      const outcomes = await writes.put(reports, now, degraded)
      await stageOutcomes(reports, outcomes, stage)
      return outcomes
    },
  }
}

/** Stages the plays of written reports, and notes the day of each staged play in its outcome. */
export async function stageOutcomes(
  writes: readonly ProgressWrite[],
  outcomes: readonly WriteOutcome[],
  stage: StageWritten,
): Promise<void> {
  const written: WrittenReport[] = []
  const places: number[] = []
  outcomes.forEach((outcome, place) => {
    if (outcome.status !== 'written') return
    written.push({ key: writes[place] as ProgressWrite, record: outcome.record, before: outcome.before })
    places.push(place)
  })
  if (written.length === 0) return
  const days = await stage(written)
  days.forEach((day, index) => {
    const outcome = outcomes[places[index] as number]
    if (day !== undefined && outcome?.status === 'written') outcome.stagedOn = day
  })
}

/** The key to persist after this outcome, with the day on which its play was staged. */
export function flushedKey(key: ProgressKey, { stagedOn }: { stagedOn?: number }): FlushedKey {
  return stagedOn === undefined ? key : { ...key, stagedOn }
}
