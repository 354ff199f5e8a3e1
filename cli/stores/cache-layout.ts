/** Configuration → the layout of the cache, as a value that the cache follows. */
import { CACHE_LAYOUT, type CacheLayout } from '../../config/cache.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import { fixedValue, type LiveValue } from '../../core/live-value.ts'
import { followRedisValue } from '../../stores/redis/live-value.ts'
import { followFile } from '../process/live-file.ts'
import type { StoreLogger } from './servers.ts'

/** Undefined: no layout, so a process caches in its own memory. Throws CONFIG_INVALID if a layout file is not valid. */
export async function followCacheLayout(
  { cache, stores }: Pick<Config, 'cache' | 'stores'>,
  clock: Clock,
  logger: Pick<StoreLogger, 'warn'>,
): Promise<LiveValue<CacheLayout | undefined>> {
  const report = (sentence: string): void => logger.warn({}, sentence)
  if (cache.layoutFrom === 'config') return fixedValue(cache.layout)
  if (cache.layoutFrom !== 'redis') return followFile<CacheLayout | undefined>(CACHE_LAYOUT, cache.layoutFrom, clock, report)
  // `cacheMistakes` refuses layoutFrom: redis without a Redis.
  const redis = stores.redis as NonNullable<Config['stores']['redis']>
  return followRedisValue<CacheLayout | undefined>(CACHE_LAYOUT, cache.layout, redis, clock, report)
}
