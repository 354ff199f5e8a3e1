/** Migrates the viewers of a fold who are listed for migration. */
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import { isListing, listedBusiness } from '../migration/progress.ts'
import type { SeenStore, StagedPlay } from '../stores/hot-store.ts'
import { endsRound } from './filter-changes.ts'

/** Folds in the legacy sets of a viewer; false: not now. 'kept': there is no legacy store here, and the viewer stays listed. */
export type MigrateViewer = (viewer: ViewerId, businesses: readonly BusinessNumber[]) => Promise<boolean | 'kept'>

/** A viewer and the listings staged for them. */
export type ListedViewer = { viewer: ViewerId; plays: readonly StagedPlay[] }

export type MigrationReport = {
  failed: { viewer: ViewerId; error: unknown }[]
  /** Why viewers stay listed and are to be tried again soon; absent: none does. */
  held?: unknown
}

/** Viewers whose legacy sets are read at once. */
const MIGRATED_AT_ONCE = 4

export function listedViewers(viewer: ViewerId, staged: readonly StagedPlay[]): ListedViewer[] {
  const plays = staged.filter(isListing)
  return plays.length === 0 ? [] : [{ viewer, plays }]
}

/** Some at once, each with what lists him once he is done; one who fails holds up nobody else, a legacy store that is down all. */
export async function migrateListed(
  hot: Pick<SeenStore, 'removeStaged'>,
  slot: number,
  listed: readonly ListedViewer[],
  move: MigrateViewer,
  report: MigrationReport,
): Promise<void> {
  let next = 0
  async function work(): Promise<void> {
    while (next < listed.length && report.held === undefined) {
      const { viewer, plays } = listed[next++] as ListedViewer
      try {
        const moved = await move(viewer, plays.map(listedBusiness))
        if (moved === true) await hot.removeStaged(slot, [{ viewer, plays }])
        if (moved === false) report.held ??= new Error(`viewer "${viewer}" and others are listed for migration still: this worker stops`)
      } catch (error) {
        if (endsRound(error)) throw error
        if (saysDown(error, 'legacyStore')) report.held ??= error
        else report.failed.push({ viewer, error })
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(MIGRATED_AT_ONCE, listed.length) }, work))
  for (const each of ended) if (each.status === 'rejected') throw each.reason
}
