/**
 * Configuration → the tiered cache of the feed: the Memcached pools of the layout. A process without a layout caches in its own memory. The
 * feed asks for changes before it uses cached values, so such memory is never behind either.
 */
import { MEMORY_LAYOUT, makeMemoryNode } from '../../cache/memory.ts'
import { makeMemcachedClient } from '../../cache/memcached/client.ts'
import type { TieredCache } from '../../cache/tiered-cache.ts'
import { makeTieredCache } from '../../cache/tiers.ts'
import type { CacheLayout } from '../../config/cache.ts'
import { liveSettings } from '../../config/live/live-view.ts'
import type { Clock } from '../../core/clock.ts'
import type { LiveValue } from '../../core/live-value.ts'
import { systemRandom } from '../../core/random.ts'
import type { LiveConfig } from '../process/live-config.ts'
import type { StoreLogger } from './servers.ts'

const [MEMORY] = MEMORY_LAYOUT.main
/** Deployments with one server each share a prefix; several on the same servers have different ones. */
const PREFIX = 'tm'

export function openFeedCache(live: LiveConfig, clock: Clock, logger: Pick<StoreLogger, 'info' | 'warn'>): TieredCache {
  const { config } = live
  const { ttlMs } = config.cache
  const memory = liveSettings(() => config.cache, { bytesMax: 'memoryBytesMax' })
  const prefix = `${config.stores.redis?.prefix ?? PREFIX}:`
  const connect = (address: string) =>
    address === MEMORY ? makeMemoryNode(clock, memory) : makeMemcachedClient(clock, address, { prefix })
  const notices = {
    down: (address: string, reason: unknown): void => logger.warn({ err: reason, address }, 'a node of the cache does not answer'),
    up: (address: string): void => logger.info({ address }, 'a node of the cache answers again'),
  }
  const unfollow = live.onChange(layoutOf, (_, version) => logger.info({ version }, 'a new layout of the cache is in use'))
  const cache = makeTieredCache(clock, systemRandom, layoutsOf(live), connect, { ttlMs }, notices)
  return {
    ...cache,
    async stop() {
      unfollow()
      await cache.stop()
    },
  }
}

const layoutOf = ({ cache }: { cache: { layout?: CacheLayout | undefined } }): CacheLayout => cache.layout ?? MEMORY_LAYOUT

function layoutsOf({ config, onChange }: LiveConfig): Pick<LiveValue<CacheLayout>, 'current' | 'follow'> {
  return {
    current: () => ({ value: layoutOf(config), version: 0 }),
    follow: (listener) => onChange(layoutOf, (value, version) => listener({ value, version })),
  }
}
