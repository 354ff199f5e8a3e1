/**
 * The checks of client input. Each rule about a single input is here, and throws a `TidemarkError` that says how to correct the input.
 * Batches catch the error per input, and the valid inputs still count.
 */
import { requireEnabled } from '../../config/businesses.ts'
import { countedTime, orderAhead, type TimesAhead } from '../../core/clock-differences.ts'
import type { Mark, MarkPlace } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkInputCount, checkMoment } from '../../core/input-limits.ts'
import { ID_BYTES_MAX, checkId } from '../../core/keys.ts'
import { SCOPE_MARKS_WRITE_ANY, type Viewer } from '../../core/viewer.ts'
import { decodeMarkCursor, type MarkList } from './model/places.ts'
import type { Registration } from './stores/record-store.ts'
import type { MarkWrite } from './stores/hot-store.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import { orReject, type Rejected } from '../user-errors.ts'

/** `SetMarkInput` of the schema, after the gateway coerced it. */
export type SetMarkInput = {
  viewer?: string | null
  business: string
  id: string
  mark: string
  source?: string | null
  markedAt?: number | null
}

/** `RegisterSubjectInput` of the schema. */
export type RegisterSubjectInput = { business?: string | null; id: string; owner: string }

/** The arguments of a page. */
export type PageInput = { first: number; after?: string | null }

const MARKS: readonly string[] = ['NONE', 'LIKE', 'DISLIKE'] satisfies Mark[]

/** A checked write. `isNow`: the input has no time, or a time that is not in the past. */
export type CheckedMark = MarkWrite & { isNow: boolean }

/** In the order of `inputs`. Throws INPUTS_TOO_MANY. */
export function checkMarks(
  inputs: readonly SetMarkInput[],
  viewer: Viewer,
  businesses: ThumbupBusinesses,
  now: number,
): (CheckedMark | Rejected)[] {
  checkInputCount(inputs.length, 'marks')
  const times = inputs.map(({ markedAt }) => markedAt)
  // A single time has no order to keep.
  const ahead = times.length > 1 ? orderAhead(times, now) : undefined
  return inputs.map((input) => orReject(() => checkMark(input, viewer, businesses, now, ahead)))
}

/** The write for an input. Throws with the code for the payload. */
function checkMark(
  input: SetMarkInput,
  viewer: Viewer,
  businesses: ThumbupBusinesses,
  now: number,
  ahead: TimesAhead | undefined,
): CheckedMark {
  const business = businesses.byName(input.business)
  const viewerId = markedViewer(input.viewer ?? viewer.id, viewer)
  checkId(input.id, 'id')
  const mark = checkKind(input.mark)
  if (mark !== 'NONE') requireEnabled(business)
  if (mark === 'DISLIKE' && !business.thumbup.dislikes) {
    throw new TidemarkError('DISLIKES_OFF', `business "${business.name}" has no dislikes: send LIKE or NONE`, { path: ['mark'] })
  }
  checkSource(input.source ?? '')
  const given = checkMoment('markedAt', 'MARKED_AT_INVALID', input.markedAt ?? now, now)
  return {
    viewer: viewerId,
    business: business.number,
    oid: input.id,
    mark,
    markedAt: countedTime(given, now, ahead),
    isNow: given >= now,
  }
}

function markedViewer(named: string, viewer: Viewer): string {
  if (named === viewer.id) return named
  if (!viewer.scopes.includes(SCOPE_MARKS_WRITE_ANY)) {
    throw new TidemarkError(
      'FORBIDDEN',
      `viewer "${named.slice(0, 16)}" is not the viewer of the token: leave viewer out, or use a token with scope ${SCOPE_MARKS_WRITE_ANY}`,
      { path: ['viewer'] },
    )
  }
  checkId(named, 'viewer')
  return named
}

function checkKind(mark: string): Mark {
  if (MARKS.includes(mark)) return mark as Mark
  throw new TidemarkError('MARK_INVALID', `mark "${mark.slice(0, 16)}" is not valid: send LIKE, DISLIKE, or NONE to undo`, {
    path: ['mark'],
  })
}

function checkSource(source: string): void {
  if (source.length <= ID_BYTES_MAX && Buffer.byteLength(source) <= ID_BYTES_MAX) return
  throw new TidemarkError('SOURCE_INVALID', `source "${source.slice(0, 16)}…" is too long: send at most ${ID_BYTES_MAX} bytes of UTF-8`, {
    path: ['source'],
  })
}

/** The registration for an input. Throws with the code for the payload. */
export function checkSubject(input: RegisterSubjectInput, businessOfCall: string | undefined, businesses: ThumbupBusinesses): Registration {
  const name = input.business ?? businessOfCall
  if (name === undefined) {
    const message = 'the input has no business: send it with the subject or with the call'
    throw new TidemarkError('BUSINESS_UNKNOWN', message, { path: ['business'] })
  }
  const business = requireEnabled(businesses.byName(name))
  checkId(input.id, 'id')
  checkId(input.owner, 'owner')
  return { business: business.number, oid: input.id, owner: input.owner }
}

/** The place after which a page begins; undefined: at the top. Throws CURSOR_INVALID. */
export function checkAfter(list: MarkList, after: string | null | undefined): MarkPlace | undefined {
  return typeof after === 'string' ? decodeMarkCursor(list, after) : undefined
}
