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
  /** The reason why viewers stay listed and must be retried soon; absent if none does. */
  held?: unknown
}

/** Viewers whose legacy sets are read concurrently. */
const MIGRATED_AT_ONCE = 4

export function listedViewers(viewer: ViewerId, staged: readonly StagedPlay[]): ListedViewer[] {
  const plays = staged.filter(isListing)
  return plays.length === 0 ? [] : [{ viewer, plays }]
}

/**
 * Migrates some viewers concurrently, and removes each one's listing afterwards. A viewer who fails does not affect the others; a legacy
 * store that is down stops all.
 */
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
        if (moved === false) report.held ??= new Error(`viewer "${viewer}" and others stay listed for migration: this worker is stopping`)
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
