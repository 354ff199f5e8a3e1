/** Records of history as the types of the schema. */
import type { Businesses, HistoryBusiness } from '../../config/businesses.ts'
import type { ProgressChange, ProgressRecord, TimelineEntry } from '../../core/domain.ts'
import { connectionOf } from '../connection.ts'
import { encodeCursor } from './model/places.ts'
import { tokenOf } from './read/change-stream.ts'
import { placeOf, type TimelinePage } from './read/timeline.ts'
import type { ReportAnswer } from './write/service.ts'

export function makeHistoryAnswers(businesses: Businesses) {
  function historyOf(page: TimelinePage, hasPreviousPage: boolean) {
    const edges = page.entries.map((entry) => ({ cursor: encodeCursor(placeOf(entry)), node: entryOf(entry) }))
    return connectionOf(edges, page, hasPreviousPage)
  }

  function entryOf({ business: number, oid, record }: TimelineEntry) {
    const business = configured(number)
    return { ...progressOf(business, oid, record), subject: { __typename: business.entity, id: oid } }
  }

  function payloadOf(answer: ReportAnswer) {
    if (answer.outcome === 'REJECTED') return { ...answer, firstOfDay: false }
    if (answer.outcome === 'PAUSED') return { outcome: answer.outcome, firstOfDay: false }
    const { key, record } = answer
    const progress = record && progressOf(configured(key.business), key.oid, record)
    if (answer.outcome === 'STALE') return { outcome: answer.outcome, progress, clearedAt: answer.clearedAt, firstOfDay: false }
    return { outcome: answer.outcome, progress, dayToken: answer.dayToken, firstOfDay: answer.firstOfDay }
  }

  function changeOf(change: ProgressChange) {
    const business = configured(change.business)
    const token = tokenOf(change)
    if (change.kind === 'cleared') return { kind: 'CLEARED', business: business.name, token }
    if (change.kind === 'deleted') return { kind: 'DELETED', business: business.name, oid: change.oid, token }
    return { kind: 'REPORTED', business: business.name, oid: change.oid, progress: progressOf(business, change.oid, change.record), token }
  }

  function configured(number: number): HistoryBusiness {
    const business = businesses.byNumber(number)
    if (business === undefined) throw new Error(`business ${number} is stored but not asked for`)
    return business
  }

  return { historyOf, payloadOf, changeOf }
}

export function progressOf(business: HistoryBusiness, oid: string, record: ProgressRecord) {
  return {
    business: business.name,
    oid,
    position: record.position,
    duration: record.duration,
    viewedAt: record.viewedAt,
    device: record.device === '' ? null : record.device,
    finished: record.finished,
  }
}
