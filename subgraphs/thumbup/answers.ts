/** Marks, lists and counts as the types of the schema. */
import type { BusinessConfig } from '../../config/config.ts'
import type { CountedSubject, MarkPlace } from '../../core/domain.ts'
import { connectionOf } from '../connection.ts'
import { encodeMarkCursor, type MarkList } from './model/places.ts'
import type { Reconciliation } from './persist/reconciler.ts'
import type { MarkPage } from './read/likes.ts'
import type { MarkAnswer } from './write/mark-answers.ts'

export type MarkPayload = ReturnType<typeof payloadOf>

export function payloadOf(answer: MarkAnswer) {
  if (answer.outcome === 'REJECTED') return { ...answer, key: undefined, changed: false, journaledMark: undefined }
  if (answer.outcome === 'STALE')
    return {
      outcome: answer.outcome,
      key: answer.key,
      oldMark: answer.mark,
      newMark: answer.mark,
      changed: false,
      journaledMark: undefined,
    }
  const { outcome, key, old, mark, journaled } = answer
  const journaledMark = journaled === true ? mark : undefined
  return { outcome, key, oldMark: old ?? null, newMark: mark, changed: old === undefined ? null : old !== mark, journaledMark }
}

export function reconciliationOf({ checked, unchecked, drift, ownerDrift }: Reconciliation) {
  return {
    checked,
    unchecked,
    drift: drift.map(({ oid, counts, rows }) => ({
      id: oid,
      likeCount: counts.likes,
      dislikeCount: counts.dislikes,
      likeRows: rows.likes,
      dislikeRows: rows.dislikes,
    })),
    ownerDrift: ownerDrift.map(({ owner, likes, summed }) => ({ owner, likesReceived: likes, summed })),
  }
}

export function countsOf(changed: readonly CountedSubject[]) {
  return changed.map(({ oid, counts }) => ({
    id: oid,
    likeCount: counts.likes,
    dislikeCount: counts.dislikes,
    version: counts.version,
  }))
}

export function likeOf(business: BusinessConfig, oid: string, markedAt: number) {
  return { business: business.name, oid, subject: { __typename: business.entity, id: oid }, markedAt }
}

export function listOf<E extends object>(list: MarkList, page: MarkPage, hasPreviousPage: boolean, edgeOf: (entry: MarkPlace) => E) {
  const edges = page.entries.map((entry) => ({ cursor: encodeMarkCursor(list, entry), ...edgeOf(entry) }))
  return connectionOf(edges, page, hasPreviousPage)
}
