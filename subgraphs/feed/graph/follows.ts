/**
 * Follows and their ends. Each user of a call has its own result. A change that changes nothing is not written, so that a repetition keeps
 * the time of the follow.
 *
 * The limit of follows is checked against the list as it was before the call. Two concurrent calls of one viewer do not see each other, and
 * may together pass the limit by the size of one call. Nothing depends on the exact limit.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { checkInputCount } from '../../../core/input-limits.ts'
import { checkId } from '../../../core/keys.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { FollowMarks } from '../../follow-marks.ts'
import { orReject, rejectedBy, type Rejected } from '../../user-errors.ts'
import type { FollowLists } from './follow-lists.ts'

export type FollowAnswer = { outcome: 'CHANGED' | 'UNCHANGED'; id: ViewerId; follows: boolean } | Rejected

/** In the order of `ids`. Throws INPUTS_TOO_MANY, or the code of the store if nothing could be stored. */
export type ChangeFollows = (viewer: ViewerId, ids: readonly string[], follows: boolean, degraded: Degraded) => Promise<FollowAnswer[]>

export function makeChangeFollows(
  lists: Pick<FollowLists, 'follows' | 'followingCounts'>,
  marks: Pick<FollowMarks, 'put'>,
  { followsMax }: { followsMax: number },
): ChangeFollows {
  return async (viewer, ids, follows, degraded) => {
    checkInputCount(ids.length, 'ids')
    const answers = new Map<string, FollowAnswer>()
    for (const id of new Set(ids))
      answers.set(
        id,
        orReject(() => checked(id, follows, viewer)),
      )
    const valid = [...answers].flatMap(([id, { outcome }]) => (outcome === 'REJECTED' ? [] : [id]))

    const without: Degraded = new Set()
    const known = await lists.follows(viewer, valid, without)
    for (const store of without) degraded.add(store)
    // A list that lacks a store may be older than the viewer's last change: everything is written then.
    const open = valid.filter((_, at) => known[at] !== follows || without.size > 0)
    const isNew = new Set(follows ? valid.filter((_, at) => known[at] !== true) : [])
    const [followed] = isNew.size > 0 ? await lists.followingCounts([viewer], degraded) : []
    const refused = new Set([...isNew].slice(Math.max(0, followsMax - (followed ?? 0))))
    for (const id of refused) answers.set(id, rejectedBy(tooMany(followsMax)))

    const written = open.filter((id) => !refused.has(id))
    const changes = written.length === 0 ? [] : await marks.put(viewer, written, follows, degraded)
    changes.forEach((change, at) => {
      const id = written[at] as string
      if ('code' in change) answers.set(id, { outcome: 'REJECTED', inputPath: [], code: change.code, message: change.message })
      else answers.set(id, { outcome: change.changed ? 'CHANGED' : 'UNCHANGED', id, follows })
    })
    return firstOfEach(ids, answers)
  }
}

/** A user who occurs twice changes once. */
function firstOfEach(ids: readonly string[], answers: ReadonlyMap<string, FollowAnswer>): FollowAnswer[] {
  const seen = new Set<string>()
  return ids.map((id) => {
    const answer = answers.get(id) as FollowAnswer
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated && answer.outcome === 'CHANGED' ? { ...answer, outcome: 'UNCHANGED' } : answer
  })
}

/** The answer if nothing has to change. */
function checked(id: string, follows: boolean, viewer: ViewerId): FollowAnswer {
  checkId(id, 'id')
  if (follows && id === viewer) throw new TidemarkError('FOLLOW_SELF', 'a viewer cannot follow themselves: leave out your own id')
  return { outcome: 'UNCHANGED', id, follows }
}

function tooMany(followsMax: number): TidemarkError {
  return new TidemarkError('FOLLOWS_TOO_MANY', `a viewer follows at most ${followsMax} users: unfollow some first`)
}
