/**
 * Likes received by owners, read down the ladder of `ladder.ts`. Owners are hot only while the count cache is down.
 * Frequent reads then do not reach the record store each time.
 */
import type { Clock } from '../core/clock.ts'
import type { OwnerSum } from '../core/domain.ts'
import type { CountCache } from '../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkRecords } from '../subgraphs/thumbup/stores/record-store.ts'
import type { CountReadsOptions } from './counts.ts'
import { makeLadder, type Ladder } from './lookup/ladder.ts'

export type OwnerKey = { business: number; owner: string }
type Sum = Pick<OwnerSum, 'likes' | 'version'>

export type OwnerReads = Pick<Ladder<OwnerKey, Sum>, 'getMany'> & {
  /** As `learn` of counts. */
  learn(sums: readonly OwnerSum[]): void
}

export function makeOwnerReads(
  clock: Clock,
  cache: Pick<CountCache, 'getOwnerSums' | 'putOwnerSums'>,
  records: Pick<MarkRecords, 'getOwnerSums'>,
  options: CountReadsOptions,
): OwnerReads {
  const ladder = makeLadder<OwnerKey, Sum>(
    clock,
    {
      getCached: (owners) => cache.getOwnerSums(owners),
      getStored: (owners) => records.getOwnerSums(owners),
      putCached: (owners, sums) =>
        cache.putOwnerSums(owners.map(({ business, owner }, index) => ({ business, owner, ...pickSum(sums[index] as Sum) }))),
    },
    {
      get hotTtlMs() {
        return options.hotTtlMs
      },
      get bytesMax() {
        return options.hotBytesMax
      },
      isHot: options.isCacheDown,
      textOf: ownerText,
      isSame: (kept, read) => kept.likes === read.likes,
    },
  )
  return {
    getMany: ladder.getMany,
    learn(sums) {
      for (const { business, owner, likes, version } of sums) ladder.learn({ business, owner }, { likes, version })
    },
  }
}

export function ownerText({ business, owner }: OwnerKey): string {
  return `${business}:${owner}`
}

function pickSum({ likes, version }: Sum): Sum {
  return { likes, version }
}
