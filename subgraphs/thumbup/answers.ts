/** Marks, lists and counts as the types of the schema. */
import type { MarkPlace } from '../../core/domain.ts'
import { connectionOf } from '../connection.ts'
import { userErrorOf, type Rejected, type UserError } from '../user-errors.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import { encodeMarkCursor, type MarkList } from './model/places.ts'
import type { Reconciliation } from './persist/reconciler.ts'
import type { MarkPage } from './read/likes.ts'
import type { Registration } from './stores/record-store.ts'
import type { MarkAnswer } from './write/mark-answers.ts'

/** `key` and `written` are not in the schema: the fields that need a read use them (`payload-fields.ts`). */
export type SetMarkPayload = ReturnType<typeof payloadOf>

const NONE: readonly UserError[] = []

/** `at`: the input of the answer. */
export function payloadOf(answer: MarkAnswer, at: () => readonly string[]) {
  const { outcome } = answer
  if (outcome === 'REJECTED')
    return {
      outcome,
      key: undefined,
      userErrors: [userErrorOf(answer, at())],
      mark: null,
      oldMark: null,
      changed: false,
      written: undefined,
    }
  const { key, mark } = answer
  if (outcome === 'STALE') return { outcome, key, userErrors: NONE, mark, oldMark: mark, changed: false, written: undefined }
  const { old } = answer
  return { outcome, key, userErrors: NONE, mark, oldMark: old ?? null, changed: old === undefined ? null : old !== mark, written: mark }
}

export function registeredOf(
  businesses: Pick<ThumbupBusinesses, 'byNumber'>,
  answer: Registration | Rejected,
  at: () => readonly string[],
) {
  if ('outcome' in answer) return { registered: false, subject: null, userErrors: [userErrorOf(answer, at())] }
  const { business, oid } = answer
  return { registered: true, subject: { __typename: businesses.byNumber(business)?.entity, id: oid }, userErrors: NONE }
}

/** `entity`: the entity type of the subjects. */
export function reconciliationOf(entity: string, { checked, unchecked, drift, ownerDrift }: Reconciliation) {
  return {
    checked,
    unchecked,
    drift: drift.map(({ oid, counts, rows }) => ({
      subject: { __typename: entity, id: oid },
      likeCount: counts.likes,
      dislikeCount: counts.dislikes,
      likeRows: rows.likes,
      dislikeRows: rows.dislikes,
    })),
    ownerDrift: ownerDrift.map(({ owner, likes, summed }) => ({ owner: { id: owner }, likesReceived: likes, summed })),
  }
}

export function listOf<E extends object>(list: MarkList, page: MarkPage, hasPreviousPage: boolean, edgeOf: (entry: MarkPlace) => E) {
  const edges = page.entries.map((entry) => ({ cursor: encodeMarkCursor(list, entry), ...edgeOf(entry) }))
  return connectionOf(edges, page, hasPreviousPage)
}
