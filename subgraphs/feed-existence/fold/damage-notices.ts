/** Notices for the operator: renewed filters, legacy sets that are gone, and viewers who stay listed for migration. */
import type { Businesses } from '../../../config/businesses.ts'
import { TidemarkError } from '../../../core/errors.ts'
import type { Notices } from '../../../writeback/notices.ts'
import type { MigrationOptions } from '../migration/migrate.ts'
import { monthText } from '../model/time-ring.ts'
import type { FoldOptions } from './fold.ts'

export type DamageNotices = Required<Pick<FoldOptions, 'onRenewed'> & Pick<MigrationOptions, 'onGone'>>

export function makeDamageNotices(notices: Notices, businesses: Businesses): DamageNotices {
  return {
    onRenewed: ({ month, reason, known }) => notices.damaged(textOfRenewed(reason, known), { month: monthText(month) }),
    onGone: (business, plays) => notices.damaged(textOfGone(plays), { business: businesses.byNumber(business)?.name ?? business }),
  }
}

/** There is no legacy store any more, or this process was not told of it, as others may have been: said once, since there may be many. */
export function keepListing(onError: (error: unknown) => void): NonNullable<FoldOptions['migrate']> {
  let isSaid = false
  return async (viewer) => {
    const what = `viewer "${viewer}" and maybe others are listed for migration, and existence.legacy is not set: they stay listed`
    if (!isSaid) onError(new TidemarkError('CONFIG_INVALID', `${what}; set it for this worker too, or leave it so, which costs nothing`))
    isSaid = true
    return 'kept'
  }
}

/** Whose it was stands with what was set aside, and not here: logs hold no viewers. */
function textOfRenewed(reason: string, known: number | undefined): string {
  if (known === undefined) return `${reason}. There is no history here to make it from: what only it knew may be served again`
  return `${reason}. History knew ${known} subjects for it: what it does not know of may be served again`
}

function textOfGone(plays: number): string {
  const what = `a viewer whose filter was damaged was moved once more, and the set of ${plays} plays that he had in the legacy store is gone`
  return `${what}: what only it knew may be served again; bring it back, and run tidemark migrate-played --verify-only --repair`
}
