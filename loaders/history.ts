/**
 * The loaders of every resolver. `makeLoaders` is called once per process and returns a function that makes one set per
 * request. A request's own DataLoader batches and remembers its keys. Concurrent requests for the same key share one
 * store read (`shared.ts`).
 */
import DataLoader from 'dataloader'
import { apartIfDamaged, type DamagedData } from '../core/outage/damaged-data.ts'
import { noteLack, type Degraded, type MayLack } from '../core/outage/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import { apartIfPartIsOut } from '../core/outage/part-outage.ts'
import { keyText } from '../core/progress-key.ts'
import type { HotStore } from '../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../subgraphs/history/stores/record-store.ts'
import { getProgressMany, type MayHavePlayed } from './progress.ts'
import { answerFromHot, makeHotFirst, UNANSWERED, type HotAnswer } from './lookup/hot-first.ts'
import { noted, withoutStores, type Incomplete } from './lookup/incomplete.ts'
import { makeSharedLookup } from './lookup/shared.ts'

export type Loaders = {
  /** A viewer's progress in a subject; undefined if there is none. */
  progress: DataLoader<ProgressKey, ProgressRecord | undefined, string>
}

type Found = ProgressRecord | undefined | Incomplete<ProgressRecord | undefined> | DamagedData<ProgressKey>

/**
 * Each set adds the names of missing stores to its request's collector. The lasting set of a subscription remembers nothing,
 * because a value read for one event is outdated at the next. `mayHavePlayed` spares the record store reads for misses.
 */
export function makeLoaders(
  hot: HotStore,
  records: RecordStore,
  mayHavePlayed?: MayHavePlayed,
  mayLack?: MayLack,
): (degraded: Degraded, lasting?: boolean) => Loaders {
  // Lookups of many viewers leave together. If a part of the hot store is down, viewers of other parts get complete results. A damaged
  // record is an error for lookups of its key only.
  const progress = makeHotFirst<ProgressKey, Found>(
    makeSharedLookup((keys) => answerFromHot(keys, (some) => apartIfDamaged(some, readHot)), keyText),
    makeSharedLookup((keys) => apartIfPartIsOut(keys, (some) => apartIfDamaged(some, lookUpTogether)), keyText),
  )

  async function readHot(keys: readonly ProgressKey[]): Promise<readonly HotAnswer<Found>[]> {
    return (await hot.getProgressMany(keys)).map(({ record, older }) => (older === undefined ? record : UNANSWERED))
  }

  async function lookUpTogether(keys: readonly ProgressKey[]): Promise<readonly Found[]> {
    const without: Degraded = new Set()
    return withoutStores(await getProgressMany(hot, records, keys, without, mayHavePlayed), without)
  }

  async function lookUp(
    keys: readonly ProgressKey[],
    degraded: Degraded,
  ): Promise<(ProgressRecord | undefined | DamagedData<ProgressKey>)[]> {
    // Noted before the lookup and for each request by itself, since requests share lookups.
    noteLack(keys, mayLack, degraded)
    return noted(await progress(keys), degraded)
  }

  return (degraded, lasting = false) => ({
    progress: new DataLoader<ProgressKey, ProgressRecord | undefined, string>((keys) => lookUp(keys, degraded), {
      cache: !lasting,
      cacheKeyFn: keyText,
      maxBatchSize: 1_000,
    }),
  })
}
