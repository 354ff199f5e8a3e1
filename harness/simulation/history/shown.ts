/** The checker's model of a viewer and of each key, and their texts in messages. */
import type { BusinessNumber, Place, ProgressKey, ProgressRecord, RewardEvent, TimelineEntry } from '../../../core/domain.ts'

/** The right view of a key. */
export type Shown = { viewedAt: number; resume: ProgressRecord; version: number }
export type KeyModel = {
  key: ProgressKey
  voided: number
  shown: Shown | undefined
  changes: { tick: number; shown: Shown | undefined }[]
  /** Merges that are pending in a journal. */
  merges: number
  /** Puts without a base since the last merge, and all later changes of the key. */
  guesses: number
  /** The last tick at which reads of the key could not be judged. */
  doubtfulUntil: number
}
export type ViewerModel = {
  paused: boolean
  clearedAt: Record<BusinessNumber, number>
  keys: Map<string, KeyModel>
  lastDay: Record<BusinessNumber, number>
  /** The tick of the last pause or resume. */
  switchedAt: number
}

export function isShown(record: ProgressRecord | undefined, shown: Shown | undefined): boolean {
  if (record === undefined || shown === undefined) return record === undefined && shown === undefined
  const { resume } = shown
  return (
    record.viewedAt === shown.viewedAt &&
    record.rank === resume.rank &&
    record.position === resume.position &&
    record.duration === resume.duration &&
    record.device === resume.device &&
    record.finished === resume.finished &&
    !record.deleted
  )
}

export function claimText({ viewer, business, day }: Pick<RewardEvent, 'viewer' | 'business' | 'day'>): string {
  return `viewer ${viewer} in business ${business} on day ${day}`
}

export function placeOf(entry: TimelineEntry): Place {
  return { viewedAt: entry.record.viewedAt, business: entry.business, oid: entry.oid }
}

export function nameOf(subject: { viewer?: string; business: number; oid: string }): string {
  return `${subject.viewer === undefined ? '' : `viewer ${subject.viewer} `}${subject.business}:${subject.oid}`
}

export function textOf(state: ProgressRecord | Shown | undefined): string {
  if (state === undefined) return 'nothing'
  if ('resume' in state) return `{viewed ${state.viewedAt}, position ${state.resume.position} by ${state.resume.device}}`
  return `{viewed ${state.viewedAt}, position ${state.position} by ${state.device}${state.deleted ? ', deleted' : ''}}`
}
