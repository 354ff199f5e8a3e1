/** The error of every hot store for a viewer at the limit of staged plays. */
import type { ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'

export function tooManyStaged(viewer: ViewerId, max: number): TidemarkError {
  return new TidemarkError(
    'PLAYS_TOO_MANY',
    `viewer "${viewer}" has played ${max} subjects or more in this hour, and they are not in the viewer's filters yet: try again later`,
  )
}
