/**
 * Refuses marks of restricted subjects that the marked viewer may not see, with one code for subjects of others and for unknown ones. An undo
 * needs no check: it changes nothing that others see, and viewers can always take back what they gave.
 */
import type { MarkKey } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import type { Audience } from '../../audience.ts'
import { rejectedBy, type Rejected } from '../../user-errors.ts'
import type { CheckedMark } from '../inputs.ts'

/** In order. Throws the code of a store if no input can be checked without it. */
export async function checkAudience(
  checked: readonly (CheckedMark | Rejected)[],
  { isRestricted, maySeeMany }: Audience,
  degraded: Degraded,
): Promise<(CheckedMark | Rejected)[]> {
  const asked = checked.filter((each): each is CheckedMark => !('outcome' in each) && each.mark !== 'NONE' && isRestricted(each))
  if (asked.length === 0) return [...checked]
  const lacked: Degraded = new Set()
  const maySee = await maySeeMany(asked, lacked)
  for (const store of lacked) degraded.add(store)
  if (asked.length === checked.length && maySee.every((may) => may === null)) throw unavailable(asked[0] as MarkKey, lacked)
  const verdicts = new Map<object, boolean | null | undefined>(asked.map((each, at) => [each, maySee[at]]))
  return checked.map((each) => {
    const may = verdicts.get(each)
    if ('outcome' in each || may === undefined || may === true) return each
    return rejectedBy(may === null ? unavailable(each, lacked) : unknownPost(each))
  })
}

function unknownPost({ oid }: MarkKey): TidemarkError {
  const message = `there is no post "${oid}" for this viewer: send the id of a post that the viewer can read`
  return new TidemarkError('POST_UNKNOWN', message, { path: ['id'] })
}

function unavailable({ oid }: MarkKey, [store = 'hotStore']: Degraded): TidemarkError {
  return new TidemarkError(UNAVAILABLE[store], `the audience of subject "${oid}" cannot be read now: send the mark again`)
}
