/**
 * The service of feed existence: checks the input, then records or reads. An issue is noted at once or not at all. A play is staged, so
 * that every read that starts after the answer leaves it out. While the hot store is down, it is durable in the log instead, and a job
 * stages it later.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import { checkId } from '../../../core/keys.ts'
import { SCOPE_OPERATOR, requireScope, type Viewer } from '../../../core/viewer.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import type { SeenRecords } from '../stores/record-store.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import type { LegacyReads } from '../migration/legacy-reads.ts'
import { checkCandidates } from '../inputs.ts'
import type { SeenReads, Unseen } from '../read/unseen.ts'
import type { Arrears } from '../read/viewer-reads.ts'
import { readWhyHidden, type WhyHidden } from '../read/why-hidden.ts'
import type { TenantWrites } from '../../tenant-statistics.ts'
import { makeRecording, type Recording, type RecordingFigures, type RecordingOptions, type RecordingSources } from './recording.ts'

/** Candidates of `unseen`, and those dropped. */
type ReadFigures = Record<'candidates' | 'droppedIssued' | 'droppedStaged' | 'droppedFiltered', number>

export type ExistenceFigures = RecordingFigures & ReadFigures

export type ExistenceService = Pick<Recording, 'recordIssued' | 'recordPlayed'> & {
  /** Throws BUSINESS_UNKNOWN, CANDIDATES_TOO_MANY, ID_INVALID. */
  unseen(viewer: Viewer, business: string, candidates: readonly string[], exclude: readonly string[], degraded: Degraded): Promise<Unseen>
  /** Throws BUSINESS_UNKNOWN, ID_INVALID, FORBIDDEN, UNAUTHENTICATED, and the code of a store that does not answer. */
  whyHidden(asker: Viewer | undefined, business: string, id: string, viewer: ViewerId): Promise<WhyHidden>
  figures(): ExistenceFigures
  writes: TenantWrites
}

export type ExistenceSources = RecordingSources & {
  hot: Pick<SeenStore, 'getSeen'>
  records: Pick<SeenRecords, 'getFilters'>
  history: Pick<HistoryRecords, 'getProgressMany'> | undefined
  /** During a migration. */
  legacy?: Pick<LegacyReads, 'playedAt'> | undefined
  reads: Pick<SeenReads, 'unseen'>
  arrears: Pick<Arrears, 'waitingOf'>
  /** Requests the repair of a filter that cannot be read. */
  onUnreadable(viewer: ViewerId, month: Month): void
}

export function makeExistenceService(
  clock: Clock,
  businesses: Businesses,
  sources: ExistenceSources,
  options: RecordingOptions,
): ExistenceService {
  const { hot, records, history, legacy, reads, arrears, onUnreadable } = sources
  const recording = makeRecording(clock, businesses, sources, options)
  const figures: ReadFigures = { candidates: 0, droppedIssued: 0, droppedStaged: 0, droppedFiltered: 0 }

  return {
    recordIssued: recording.recordIssued,
    recordPlayed: recording.recordPlayed,
    async unseen(viewer, business, candidates, exclude, degraded) {
      const { number } = businesses.byName(business)
      checkCandidates(candidates, 'candidates', viewer)
      checkCandidates(exclude, 'exclude', viewer)
      const unseen = await reads.unseen(viewer.id, number, candidates, exclude, degraded)
      figures.candidates += candidates.length
      for (const name of ['droppedIssued', 'droppedStaged', 'droppedFiltered'] as const) figures[name] += unseen[name]
      return unseen
    },
    async whyHidden(asker, business, id, viewer) {
      requireScope(asker, SCOPE_OPERATOR)
      const { number } = businesses.byName(business)
      checkId(id, 'id')
      checkId(viewer, 'viewer')
      return readWhyHidden(
        { hot, records, history, legacy, arrears, onUnreadable },
        { viewer, business: number, oid: id },
        clock.now(),
        options,
      )
    },
    figures: () => ({ ...recording.figures(), ...figures }),
    writes: recording.writes,
  }
}
