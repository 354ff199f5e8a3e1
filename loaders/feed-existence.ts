/**
 * The loader of seen subjects: one set per request, like those of history (`history.ts`). Keys of one viewer and
 * business are one read. Concurrent requests share reads of the hot store. Filters are in memory.
 */
import DataLoader from 'dataloader'
import type { Degraded } from '../core/outage/degraded.ts'
import type { BusinessNumber, ProgressKey, ViewerId } from '../core/domain.ts'
import { keyText } from '../core/progress-key.ts'

export type SeenReason = 'ISSUED' | 'PLAYED' | 'PLAYED_PROBABLY'

export type ExistenceLoaders = {
  /** Whether a viewer was served a subject lately, or watched it; null if neither, as far as the available stores know. */
  seen: DataLoader<ProgressKey, SeenReason | null, string>
}

type ReadReasons = (
  viewer: ViewerId,
  business: BusinessNumber,
  oids: readonly string[],
  degraded: Degraded,
) => Promise<readonly (SeenReason | null)[]>

const BATCH_MAX = 10_000

export function makeExistenceLoaders(readReasons: ReadReasons): (degraded: Degraded, lasting?: boolean) => ExistenceLoaders {
  async function load(keys: readonly ProgressKey[], degraded: Degraded): Promise<(SeenReason | null | Error)[]> {
    const answers: (SeenReason | null | Error)[] = []
    const groups = Map.groupBy(keys.keys(), (place) => `${keys[place]?.business}:${keys[place]?.viewer}`)
    await Promise.all(
      Array.from(groups.values(), async (places) => {
        const some = places.map((place) => keys[place] as ProgressKey)
        const { viewer, business } = some[0] as ProgressKey
        try {
          const oids = some.map(({ oid }) => oid)
          const reasons = await readReasons(viewer, business, oids, degraded)
          places.forEach((place, at) => (answers[place] = reasons[at] as SeenReason | null))
        } catch (error) {
          for (const place of places) answers[place] = error instanceof Error ? error : new Error(String(error))
        }
      }),
    )
    return answers
  }

  return (degraded, lasting = false) => ({
    seen: new DataLoader((keys: readonly ProgressKey[]) => load(keys, degraded), {
      cache: !lasting,
      cacheKeyFn: keyText,
      maxBatchSize: BATCH_MAX,
    }),
  })
}
