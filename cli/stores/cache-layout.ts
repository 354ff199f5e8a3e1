/** Configuration → the layout of the cache, as a value that the cache follows. */
import { CACHE_LAYOUT, type CacheLayout } from '../../config/cache.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import { fixedValue, type LiveSource, type LiveValue } from '../../core/live-value.ts'
import { followRedisValue, openRedisValue } from '../../stores/redis/live-value.ts'
import { followFile, readSettingFile } from '../process/live-file.ts'
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

/**
 * The layout at this moment. `version`: of the layout in Redis; 0 if none was set there, so that `cache.layout` applies. Throws CONFIG_INVALID
 * if the layout is not valid, and HOT_STORE_UNAVAILABLE if Redis does not answer.
 */
export async function readCacheLayout(
  config: Pick<Config, 'cache' | 'stores'>,
): Promise<{ value: CacheLayout | undefined; version?: number }> {
  const { layout, layoutFrom } = config.cache
  if (layoutFrom === 'config') return { value: layout }
  if (layoutFrom !== 'redis') return { value: readSettingFile(CACHE_LAYOUT, layoutFrom) }
  return (await withLayoutInRedis(config, (source) => source.read())) ?? { value: layout, version: 0 }
}

export async function withLayoutInRedis<A>(
  { stores }: Pick<Config, 'stores'>,
  use: (source: LiveSource<CacheLayout>) => Promise<A>,
): Promise<A> {
  // `cacheMistakes` refuses layoutFrom: redis without a Redis.
  const source = openRedisValue(CACHE_LAYOUT, stores.redis as NonNullable<Config['stores']['redis']>)
  try {
    return await use(source)
  } finally {
    source.close()
  }
}
