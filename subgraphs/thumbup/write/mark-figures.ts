/** Counts the answers to marks. */
import type { BusinessNumber } from '../../../core/domain.ts'
import { makeTenantWrites } from '../../tenant-statistics.ts'
import type { SetMarkInput } from '../inputs.ts'
import type { MarkAnswer } from './mark-answers.ts'

export type ThumbupFigures = Record<'accepted' | 'changed' | 'stale' | 'rejected' | 'journaled', number> & {
  /** Accepted marks by source. Beyond 50 sources, the rest count as "other". */
  sources: Readonly<Record<string, number>>
}

const SOURCES_MAX = 50

const FIGURE_OF = { ACCEPTED: 'accepted', STALE: 'stale', REJECTED: 'rejected' } as const

export function makeMarkFigures() {
  const figures = { accepted: 0, changed: 0, stale: 0, rejected: 0, journaled: 0 }
  const sources = new Map<string, number>()
  const writes = makeTenantWrites()

  /** `business`: of a valid mark. */
  function count(each: MarkAnswer, { source }: SetMarkInput, business: BusinessNumber | undefined): void {
    if (business !== undefined && each.outcome === 'ACCEPTED') writes.accepted(business)
    if (business !== undefined && each.outcome === 'REJECTED' && each.code === 'QUOTA_EXCEEDED') writes.overQuota(business)
    figures[FIGURE_OF[each.outcome]]++
    if (each.outcome !== 'ACCEPTED') return
    if (each.journaled === true) figures.journaled++
    if (each.old !== each.mark) figures.changed++
    const name = source ?? ''
    const counted = sources.has(name) || sources.size < SOURCES_MAX ? name : 'other'
    sources.set(counted, (sources.get(counted) ?? 0) + 1)
  }

  return {
    count,
    writes,
    figures: (): ThumbupFigures => ({ ...figures, sources: Object.fromEntries(sources) }),
  }
}
