/** How every store of what was seen says that a viewer has as much staged as he may. */
import type { ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'

export function tooManyStaged(viewer: ViewerId, max: number): TidemarkError {
  return new TidemarkError(
    'PLAYS_TOO_MANY',
    `viewer "${viewer}" has played ${max} things or more in this hour, and they are not in his filters yet: try again later`,
  )
}
