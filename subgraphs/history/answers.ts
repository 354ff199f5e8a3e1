/**
 * Records of history as the types of the schema. Resolvers compute `progress` and `subject` only for operations that select them
 * (`resolvers.ts`), so a batch of reports costs one plain object per report.
 */
import type { Businesses, HistoryBusiness } from '../../config/businesses.ts'
import { ALL_BUSINESSES, type ProgressChange, type ProgressKey, type ProgressRecord, type TimelineEntry } from '../../core/domain.ts'
import { keyText } from '../../core/progress-key.ts'
import { dayTokenOf, type RewardRules } from '../../core/rewards.ts'
import { shownReward } from './shown-reward.ts'
import { connectionOf } from '../connection.ts'
import { knownSubject, type SubjectEntity } from '../subjects.ts'
import type { UserError } from '../user-errors.ts'
import type { RewardEventPage } from '../../writeback/reward-events.ts'
import { encodeCursor } from './model/places.ts'
import { tokenOf } from './read/change-stream.ts'
import { placeOf, type TimelinePage } from './read/timeline.ts'
import type { ReportAnswer } from './write/service.ts'

/** The progress of the caller; `record` is undefined if there is none. */
type KnownProgress = { readonly record: ProgressRecord | undefined }
export type HistorySubject = SubjectEntity<KnownProgress>

export const NO_PROGRESS: KnownProgress = { record: undefined }

/** `key` and `record` are the sources of `subject` and `progress`. */
export type ReportPayload = {
  outcome: ReportAnswer['outcome']
  userErrors: readonly UserError[]
  clearedAt: number | undefined
  dayToken: string | undefined
  firstOfDay: boolean
  key: ProgressKey | undefined
  record: ProgressRecord | undefined
}

export const NO_USER_ERRORS: readonly UserError[] = []

export function makeHistoryAnswers(businesses: Businesses, rules: RewardRules) {
  function historyOf(page: TimelinePage, hasPreviousPage: boolean) {
    return connectionOf(page.entries.map(edgeOf), page, hasPreviousPage)
  }

  function edgeOf(entry: TimelineEntry) {
    const { business, oid, record } = entry
    return {
      cursor: encodeCursor(placeOf(entry)),
      node: knownSubject(configured(business).entity, oid, entry),
      viewedAt: record.viewedAt,
    }
  }

  /** The subject of a report as `caller` now sees it. */
  function subjectOf({ outcome, key, record }: ReportPayload, caller: string): HistorySubject | null {
    if (key === undefined) return null
    const { entity } = configured(key.business)
    const isKnown = outcome !== 'PAUSED' && key.viewer === caller
    return isKnown ? knownSubject(entity, key.oid, { record }) : { __typename: entity, id: key.oid }
  }

  function changeOf(change: ProgressChange) {
    const token = tokenOf(change)
    if (change.kind === 'paused') return { kind: 'SETTINGS_CHANGED', business: '', settings: { paused: change.paused }, token }
    if (change.kind === 'day') return { kind: 'FIRST_OF_DAY', business: nameOf(change.business), dayToken: tokenOfDay(change), token }
    const { name, entity } = configured(change.business)
    if (change.kind === 'cleared') return { kind: 'CLEARED', business: name, token }
    if (change.kind === 'deleted') return { kind: 'DELETED', business: name, subject: knownSubject(entity, change.oid, NO_PROGRESS), token }
    return { kind: 'REPORTED', business: name, subject: knownSubject(entity, change.oid, change), token }
  }

  function rewardEventsOf({ events, missedCount, hasNextPage }: RewardEventPage, hasPreviousPage: boolean) {
    const edges = events.map(({ cursor, reward }) => ({ cursor, node: shownReward(reward, businesses) }))
    return { ...connectionOf(edges, { hasNextPage }, hasPreviousPage), missedCount }
  }

  /** Null if first views are not rewarded by this process: its configuration is not that of the process that claimed the day. */
  function tokenOfDay({ viewer, business, day }: Extract<ProgressChange, { kind: 'day' }>): string | null {
    const rule = rules('FIRST_VIEW', business)
    return rule?.business === business ? dayTokenOf(viewer, rule, day) : null
  }

  function nameOf(business: number): string {
    return business === ALL_BUSINESSES ? '' : configured(business).name
  }

  function configured(number: number): HistoryBusiness {
    const business = businesses.byNumber(number)
    if (business === undefined) throw new Error(`business ${number} is stored but not asked for`)
    return business
  }

  return { historyOf, subjectOf, changeOf, rewardEventsOf }
}

export type Progress = Pick<ProgressRecord, 'position' | 'duration' | 'viewedAt' | 'finished'> & { key: ProgressKey; device: string | null }

export function progressOf(key: ProgressKey, record: ProgressRecord | undefined): Progress | null {
  if (record === undefined) return null
  const { position, duration, viewedAt, device, finished } = record
  return { key, position, duration, viewedAt, device: device === '' ? null : device, finished }
}

/** The number of a business stays when its name changes. */
export function progressId({ key }: Progress): string {
  return `progress:${keyText(key)}`
}
