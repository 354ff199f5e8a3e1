/** A counter of fixed windows in Redis, for all processes. */
import { RateLimiterRedis, type RateLimiterAbstract } from 'rate-limiter-flexible'

/** A connection to Redis for the limiter. Clients of ioredis fit. */
export type CountingStore = { readonly client: object; readonly prefix: string }

export type CounterOptions = { readonly points: number; readonly perSeconds: number; readonly blockSeconds?: number }

export function makeRedisCounter(store: CountingStore, name: string, options: CounterOptions): RateLimiterAbstract {
  const { points, perSeconds: duration, blockSeconds: blockDuration = 0 } = options
  const keyPrefix = `${store.prefix}:limit:${name}`
  return new RateLimiterRedis({ points, duration, blockDuration, keyPrefix, storeClient: store.client, rejectIfRedisNotReady: true })
}
