/**
 * The loaders every resolver reads through. `makeLoaders` is called once per process and returns what makes one set per
 * request: a request's own DataLoader batches and remembers its keys, and what several requests want at the same time
 * goes to the store once (`shared-lookup.ts`).
 */
import DataLoader from 'dataloader'
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import { keyText } from '../core/progress-key.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { getProgressMany } from './progress.ts'
import { makeSharedLookup } from './shared-lookup.ts'

export type Loaders = {
  /** A viewer's progress in a subject; undefined where there is none. */
  progress: DataLoader<ProgressKey, ProgressRecord | undefined, string>
}

export function makeLoaders(hot: HotStore, records: RecordStore): () => Loaders {
  const progress = makeSharedLookup<ProgressKey, ProgressRecord | undefined>((keys) => getProgressMany(hot, records, keys), keyText)
  return () => ({
    progress: new DataLoader(progress, { cacheKeyFn: keyText, maxBatchSize: 1_000 }),
  })
}
