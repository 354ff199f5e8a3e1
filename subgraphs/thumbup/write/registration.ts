/** Registers the owners of subjects, in the record store and in the caches of owners' sums. One answer per input. */
import type { BusinessNumber } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { checkInputCount } from '../../../core/input-limits.ts'
import { SCOPE_SUBJECTS_REGISTER, requireScope, type Viewer } from '../../../core/viewer.ts'
import { subjectText } from '../../../loaders/counts.ts'
import type { Audience } from '../../audience.ts'
import type { ThumbupBusinesses } from '../businesses.ts'
import { checkSubject, type RegisterSubjectInput } from '../inputs.ts'
import type { Registration } from '../stores/record-store.ts'
import { answerByStores } from './by-stores.ts'
import type { Pipeline } from './pipeline.ts'
import { orReject, type Rejected } from '../../user-errors.ts'

export async function registerSubjects(
  businesses: ThumbupBusinesses,
  pipelineOf: (business: BusinessNumber) => Pick<Pipeline, 'guarded' | 'owners'>,
  { isRestricted }: Pick<Audience, 'isRestricted'>,
  viewer: Viewer | undefined,
  business: string | undefined,
  inputs: readonly RegisterSubjectInput[],
): Promise<(Registration | Rejected)[]> {
  requireScope(viewer, SCOPE_SUBJECTS_REGISTER)
  checkInputCount(inputs.length, 'subjects')
  const seen = new Set<string>()
  const checked = inputs.map((input) => orReject(() => requirePublic(once(checkSubject(input, business, businesses), seen), isRestricted)))
  return answerByStores(pipelineOf, checked, async ({ guarded, owners }, registrations) => {
    const sums = await guarded.records.registerSubjects(registrations)
    // A cache that is down misses this sum. Sums have versions, so the next read gets the newer one.
    if (sums.length > 0) await guarded.cache.putOwnerSums(sums).catch(() => undefined)
    owners.learn(sums)
    return registrations
  })
}

/** `likesReceived` is public, so it must not include likes of restricted subjects. */
function requirePublic(registration: Registration, isRestricted: Audience['isRestricted']): Registration {
  if (!isRestricted(registration)) return registration
  const message = `subject "${registration.oid}" is for chosen viewers only, and its likes are in no public sum: register public subjects only`
  throw new TidemarkError('POST_UNKNOWN', message, { path: ['id'] })
}

function once(registration: Registration, seen: Set<string>): Registration {
  const text = subjectText(registration)
  if (seen.has(text))
    throw new TidemarkError('REGISTERED_TWICE', `subject "${registration.oid}" occurs twice in this call: send it once`, { path: ['id'] })
  seen.add(text)
  return registration
}
