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
  /** What else is known that a viewer watched in a month; absent: nothing. */
  rebuild?: ((viewer: ViewerId, month: Month) => Promise<readonly Subject[]>) | undefined
  /** Lists a viewer for migration again, before his mark goes. Absent: there is no legacy store. */
  relist?: ((viewer: ViewerId, businesses: readonly BusinessNumber[]) => Promise<void>) | undefined
  /** Told of each filter that was set aside and made anew. */
  onRenewed?: ((renewed: Renewed) => void) | undefined
}

/** `known`: how many subjects it was made anew from; undefined where there is no history to ask. */
export type Renewed = FilterKey & { reason: string; known: number | undefined }

export type Renewal = {
  renew(key: FilterKey, version: number, damage: Error): Promise<boolean>
  /** Makes a filter anew if it is damaged. True if it was, and nobody else has done it meanwhile. */
  repair(key: FilterKey): Promise<boolean>
}

export function makeRenewal(
  records: Pick<SeenRecords, 'getFilters' | 'putFilters' | 'quarantineFilter'>,
  add: AddSubjects,
  { isOver, expiryOf, rebuild, relist, onRenewed }: RenewalOptions,
): Renewal {
  /**
   * Sets a filter aside; what else is known of its month comes in its place. What a legacy store had is not known here: so who was
   * moved is listed, then unmarked, and then his filter is made anew; who is being moved is so once more. Whoever dies within it leaves one who is moved once more.
   * False if another one stands there by now.
   */
  async function renew({ viewer, month }: FilterKey, version: number, damage: Error): Promise<boolean> {
    const known = await rebuild?.(viewer, month)
    const rebuilt = known === undefined || known.length === 0 ? undefined : add(undefined, month, known)
    if (rebuilt !== undefined && rebuilt.length > FILTER_BYTES_MAX) throw tooLarge({ viewer, month }, rebuilt.length)
    const listAgain = async (mark: MigrationMark): Promise<void> => {
      if (mark.size > 0) await relist?.(viewer, [...mark.keys()])
    }
    // A mark that is the first lives as long as the newest filter.
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
