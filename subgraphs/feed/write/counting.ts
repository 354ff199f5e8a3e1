/**
 * Counter events of services that own the counted things. Each event has its own result. An event counts once: its key is remembered for at
 * least an hour.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { checkInputCount } from '../../../core/input-limits.ts'
import { UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import { orReject, rejectedBy, type Rejected } from '../../user-errors.ts'
import type { CountResult } from '../counters/service.ts'
import { checkCountEvent, uncountedPost, type CountEventInput } from '../inputs.ts'
import type { CountEvent } from '../model/counts.ts'
import type { Post } from '../model/post.ts'
import type { PostId } from '../packed/post-id.ts'

export type CountAnswer = { outcome: 'COUNTED' | 'REPEATED'; id: PostId } | Rejected

export type CountParts = {
  /** Posts as they are now, tombstones included. Undefined: never published, or a store in `degraded` may know it. */
  posts(ids: readonly PostId[], degraded: Degraded): Promise<(Post | undefined)[]>
  /** As `CounterService.adjust`. */
  count(events: readonly CountEvent[]): Promise<CountResult[]>
}

/** In the order of `inputs`. Throws INPUTS_TOO_MANY. */
export async function countInputs(
  { posts, count }: CountParts,
  inputs: readonly CountEventInput[],
  { business, regions }: { business: BusinessNumber; regions: number },
  degraded: Degraded,
): Promise<CountAnswer[]> {
  checkInputCount(inputs.length, 'events')
  const answers = inputs.map((input): CountAnswer => orReject(() => checked(input, regions)))
  const ids = [...new Set(answers.flatMap((answer) => ('id' in answer ? [answer.id] : [])))]
  const without: Degraded = new Set()
  const found = new Map((await posts(ids, without)).map((post, at) => [ids[at], post]))
  for (const store of without) degraded.add(store)
  answers.forEach((answer, at) => {
    if (!('id' in answer) || found.get(answer.id)?.deleted === false) return
    const mayExist = without.size > 0 && found.get(answer.id) === undefined
    answers[at] = rejectedBy(mayExist ? unreadable(answer.id, without) : uncountedPost(answer.id))
  })

  const places = answers.flatMap((answer, at) => ('id' in answer ? [at] : []))
  const outcomes = places.length === 0 ? [] : await count(places.map((at) => eventOf(inputs[at] as CountEventInput, business)))
  places.forEach((at, index) => (answers[at] = answerOf(inputs[at] as CountEventInput, outcomes[index])))
  return answers
}

function checked(input: CountEventInput, regions: number): CountAnswer {
  checkCountEvent(input, regions)
  return { outcome: 'COUNTED', id: input.id }
}

function answerOf({ id, delta }: CountEventInput, outcome: CountResult | undefined): CountAnswer {
  if (outcome instanceof TidemarkError) return rejectedBy(outcome)
  if (outcome !== 'invalid') return { outcome: outcome === 'repeated' ? 'REPEATED' : 'COUNTED', id }
  const message = `delta ${delta} would take the counter of post ${id} below 0: send the events that it counted first`
  return rejectedBy(new TidemarkError('DELTA_INVALID', message, { path: ['delta'] }))
}

function unreadable(id: PostId, [store = 'hotStore']: Degraded): TidemarkError {
  return new TidemarkError(UNAVAILABLE[store], `post ${id} cannot be read now: send the event again`)
}

const COUNTERS = { COMMENT: 'comment', READ: 'read' } as const

/** Services have counters of their own, so their keys never meet those of posts (`model/post-events.ts`). */
function eventOf({ key, id, counter, delta }: CountEventInput, business: BusinessNumber): CountEvent {
  return { id: key, subject: { business, oid: id }, counter: COUNTERS[counter], delta }
}
