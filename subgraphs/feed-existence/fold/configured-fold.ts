/** The fold with the rules of the configuration: false-hide rate, months, expiry, rebuild from history, listing for migration. */
import type { Config } from '../../../config/config.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, Month, ViewerId } from '../../../core/domain.ts'
import type { Random } from '../../../core/random.ts'
import { expiryOf } from '../filter/expiry.ts'
import { rateOfEach } from '../filter/filter.ts'
import { listingOf } from '../migration/progress.ts'
import { monthOf, slotOf } from '../model/time-ring.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import type { SeenRecords } from '../stores/record-store.ts'
import { makeFold, type Fold, type FoldOptions } from './fold.ts'
import { announceShape } from './layouts.ts'
import { makeRebuild } from './rebuild.ts'

/** Damaged filters are rebuilt from the record store of history, if there is one. */
export type FoldedStores = { hot: SeenStore; records: SeenRecords; history?: HistoryRecords | undefined }

/** Also used by the migration and by simulations. */
export function makeExistenceFold(
  clock: Clock,
  stores: FoldedStores,
  config: Config,
  random: Random,
  legacy: Pick<FoldOptions, 'migrate' | 'writeBack' | 'onRenewed'> = {},
): Fold {
  const { history } = stores
  const shape = ringOf(config)
  return makeFold(stores, {
    ...filterRules(clock, config, random),
    rebuild:
      history === undefined
        ? undefined
        : makeRebuild(
            history,
            makeBusinesses(() => config.businesses),
          ),
    relist: config.existence.legacy && relist,
    ...legacy,
  })

  async function relist(viewer: ViewerId, moved: readonly BusinessNumber[]): Promise<void> {
    await announceShape(stores.hot, shape, clock)
    const now = clock.now()
    const listings = moved.map((business) => listingOf(viewer, business, now))
    await stores.hot.stagePlays(listings, { now, slot: slotOf(now, shape.slots) })
  }
}

export function filterRules(
  clock: Clock,
  { existence }: Config,
  random: Random,
): Pick<FoldOptions, 'rate' | 'monthsBefore' | 'isOver' | 'expiryOf'> {
  const { rate, monthsBefore, idleFromHour: fromHour, idleHours: hours, utcOffsetMinutes, futureMaxMs } = existence
  return {
    rate: rateOfEach(rate, monthsBefore + 1),
    monthsBefore,
    // A month is not over while servers with other clocks may still record plays in it.
    isOver: (month: Month) => month < monthOf(clock.now() - futureMaxMs),
    expiryOf: (month: Month) => expiryOf(month, { fromHour, hours, utcOffsetMinutes }, random),
  }
}
