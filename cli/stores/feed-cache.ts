/**
 * Configuration → the tiered cache of the feed: the Memcached pools of the layout. A process without a layout caches in its own memory. The
 * feed asks for changes before it uses cached values, so such memory is never behind either.
 */
import { MEMORY_LAYOUT, makeMemoryNode } from '../../cache/memory.ts'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import type { TieredCache } from '../../cache/tiered-cache.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import type { CacheLayout } from '../../config/cache.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import type { LiveValue, Versioned } from '../../core/live-value.ts'
import { systemRandom } from '../../core/random.ts'
import { followCacheLayout } from './cache-layout.ts'
import type { StoreLogger } from './servers.ts'

const [MEMORY] = MEMORY_LAYOUT.main
/** Deployments with one server each share a prefix; several on the same servers have different ones. */
const PREFIX = 'tm'

/** Throws CONFIG_INVALID if a layout file is not valid. */
export async function openFeedCache(config: Config, clock: Clock, logger: Pick<StoreLogger, 'info' | 'warn'>): Promise<TieredCache> {
  const layouts = await followCacheLayout(config, clock, logger)
  const { ttlMs, memoryBytesMax } = config.cache
  const prefix = `${config.stores.redis?.prefix ?? PREFIX}:`
  const connect = (address: string) =>
    address === MEMORY ? makeMemoryNode(clock, { bytesMax: memoryBytesMax }) : makeMemcachedClient(clock, address, { prefix })
  const notices = {
    down: (address: string, reason: unknown): void => logger.warn({ err: reason, address }, 'a node of the cache does not answer'),
    up: (address: string): void => logger.info({ address }, 'a node of the cache answers again'),
  }
  layouts.follow(({ version }) => logger.info({ version }, 'a new layout of the cache is in use'))
  const cache = makeTieredCache(clock, systemRandom, orMemory(layouts), connect, { ttlMs }, notices)
  return {
    ...cache,
    async stop() {
      await layouts.stop()
      await cache.stop()
    },
  }
}

function orMemory(layouts: LiveValue<CacheLayout | undefined>): LiveValue<CacheLayout> {
  const some = ({ value, version }: Versioned<CacheLayout | undefined>) => ({ value: value ?? MEMORY_LAYOUT, version })
  return { ...layouts, current: () => some(layouts.current()), follow: (listener) => layouts.follow((now) => listener(some(now))) }
}
