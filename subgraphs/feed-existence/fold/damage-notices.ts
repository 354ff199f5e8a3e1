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

/**
 * A process without `existence.legacy`, although viewers are listed: the migration is over, or other processes have the setting. Reported
 * once, since there may be many viewers.
 */
export function keepListing(onError: (error: unknown) => void): NonNullable<FoldOptions['migrate']> {
  let isSaid = false
  return async (viewer) => {
    const what = `viewer "${viewer}" and possibly others are listed for migration, but existence.legacy is not set: they stay listed`
    if (!isSaid) onError(new TidemarkError('CONFIG_INVALID', `${what}; set it for this worker too, or leave it unset, which does no harm`))
    isSaid = true
    return 'kept'
  }
}

/** Logs name no viewers. The quarantined filter has the viewer. */
function textOfRenewed(reason: string, known: number | undefined): string {
  if (known === undefined)
    return `${reason}. No history is available for the rebuild: subjects that only this filter had may be served again`
  return `${reason}. The rebuild found ${known} subjects in history: subjects that history lacks may be served again`
}

function textOfGone(plays: number): string {
  const what = `a viewer whose filter was damaged was migrated again, but the legacy set, which had ${plays} plays, is gone`
  return `${what}: these plays may be served again; restore the set, and run tidemark migrate-played --verify-only --repair`
}
