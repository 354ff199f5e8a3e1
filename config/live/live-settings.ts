/** The settings that a live version may change, and the source of live versions. */
import { z } from 'zod'

/** The section `live`. */
export const liveSchema = z
  .object({
    from: z
      .string()
      .min(1)
      .default('stores')
      .describe(
        'The source of live versions. `stores`: `stores.redis`, or the folder `live` of `stores.data` in the embedded shape; `tidemark config set` changes them. `off`: none. Any other value: the path of a YAML or JSON file, which is watched.',
      ),
  })
  .strict()

/** Paths of the settings, without places in lists. A path stands for all settings below it. */
const LIVE = [
  'businesses',
  'limits',
  ...['layout', 'memoryBytesMax'].map((key) => `cache.${key}`),
  ...['cacheBytesMax', 'cacheTtlMs'].map((key) => `existence.${key}`),
  // Flushes, windows and sweeps have the same names in each section.
  ...['history', 'thumbup', 'feed'].flatMap((section) =>
    ['flushAgeMaxMs', 'flushKeysMax', 'aggregatorKeysMax', 'persistKeysMax', 'sweepAfterMs', 'sweepEveryMs'].map(
      (key) => `${section}.${key}`,
    ),
  ),
  ...['windowMs', 'windowKeysMax', 'hotTtlMs', 'hotBytesMax'].map((key) => `thumbup.${key}`),
  'feed.countsWindowMs',
]

/** Settings below these paths that need a restart all the same. */
const NOT_LIVE = ['businesses.counters', 'businesses.thumbup.stores', 'businesses.thumbup.deleted']

/** Mappings that a version replaces as a whole: a pool or a rate of another source has no place in them. */
export const REPLACED: readonly (readonly [section: string, key: string])[] = [
  ['cache', 'layout'],
  ...['viewer', 'service', 'client', 'preparing', 'address', 'anonymous', 'abuse'].map((kind) => ['limits', kind] as const),
]

/** `path`: such as `businesses.thumbup.likesCap`. */
export function isLive(path: string): boolean {
  return LIVE.some((each) => isWithin(path, each)) && !NOT_LIVE.some((each) => isWithin(path, each))
}

/** True for a section with live settings below it. */
export function hasLive(path: string): boolean {
  return isLive(path) || LIVE.some((each) => isWithin(each, path))
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`)
}
