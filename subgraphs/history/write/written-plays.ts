/**
 * Stages plays with their reports, so that feeds hide a play from the acknowledgement of its report on. If staging fails, the report is
 * still acknowledged: the persist step (`subgraphs/history/persist/persist.ts`) stages each play that is not noted as staged here.
 */
import type { FlushedKey, ProgressKey } from '../../../core/domain.ts'
import type { ProgressWrite } from '../stores/hot-store.ts'
import type { StageWritten, WrittenReport } from '../../../core/written-reports.ts'
import type { WriteOutcome } from './writes.ts'

/**
 * Passes the written records, with their previous records, to feed existence. Notes the day of each play that was staged in its outcome.
 * `stage`: absent if feed existence takes no plays from history.
 */
export async function stageOutcomes(
  writes: readonly ProgressWrite[],
  outcomes: readonly WriteOutcome[],
  stage: StageWritten | undefined,
): Promise<void> {
  if (stage === undefined) return
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
