/** Renews damaged filters: quarantines one and puts a rebuilt one in its place. */
import type { BusinessNumber, Month, Subject, ViewerId } from '../../../core/domain.ts'
import { saysDamaged } from '../../../core/errors.ts'
import { openFilter } from '../filter/filter.ts'
import { emptyMark, type MigrationMark } from '../migration/progress.ts'
import { FILTER_BYTES_MAX, type FilterKey, type SeenRecords } from '../stores/record-store.ts'
import { tooLarge, type AddSubjects } from './additions.ts'

export type RenewalOptions = {
  isOver(month: Month): boolean
  expiryOf(month: Month): number
  /** Everything else that is known of a viewer's plays in a month; if absent, nothing is. */
  rebuild?: ((viewer: ViewerId, month: Month) => Promise<readonly Subject[]>) | undefined
  /** Lists a viewer for migration again, before the mark is emptied. If absent, there is no legacy store. */
  relist?: ((viewer: ViewerId, businesses: readonly BusinessNumber[]) => Promise<void>) | undefined
  /** Called for each filter that was quarantined and rebuilt. */
  onRenewed?: ((renewed: Renewed) => void) | undefined
}

/** `known`: the number of subjects it was rebuilt from; undefined if there is no history. */
export type Renewed = FilterKey & { reason: string; known: number | undefined }

export type Renewal = {
  renew(key: FilterKey, version: number, damage: Error): Promise<boolean>
  /** Rebuilds a filter if it is damaged. True if it was, and no other process has rebuilt it meanwhile. */
  repair(key: FilterKey): Promise<boolean>
}

export function makeRenewal(
  records: Pick<SeenRecords, 'getFilters' | 'putFilters' | 'quarantineFilter'>,
  add: AddSubjects,
  { isOver, expiryOf, rebuild, relist, onRenewed }: RenewalOptions,
): Renewal {
  /**
   * Quarantines a filter, and puts everything else known of its month in its place. The plays of a legacy store are not known here. A
   * migrated viewer is therefore listed again, then unmarked, then rebuilt, in that order; a migration under way is repeated. A crash in
   * between repeats the migration. False if another filter is stored by now.
   */
  async function renew({ viewer, month }: FilterKey, version: number, damage: Error): Promise<boolean> {
    const known = await rebuild?.(viewer, month)
    const rebuilt = known === undefined || known.length === 0 ? undefined : add(undefined, month, known)
    if (rebuilt !== undefined && rebuilt.length > FILTER_BYTES_MAX) throw tooLarge({ viewer, month }, rebuilt.length)
    const listAgain = async (mark: MigrationMark): Promise<void> => {
      if (mark.size > 0) await relist?.(viewer, [...mark.keys()])
    }
    // A first mark lives as long as the newest filter.
    let newest = month
    while (isOver(newest)) newest++
    await emptyMark(records, viewer, listAgain, { writesFirst: relist !== undefined, expiresAt: expiryOf(newest) })
    const isAside = await records.quarantineFilter({ viewer, month }, version, damage.message, rebuilt)
    if (isAside) onRenewed?.({ viewer, month, reason: damage.message, known: known?.length })
    return isAside
  }

  return {
    renew,
    async repair(key) {
      const [stored] = await records.getFilters([key])
      if (stored === undefined) return false
      try {
        openFilter(stored.filter)
        return false
      } catch (error) {
        if (!saysDamaged(error)) throw error
        return await renew(key, stored.version, error)
      }
    },
  }
}
