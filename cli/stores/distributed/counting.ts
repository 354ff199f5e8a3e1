/** Configuration → the shared counters of rate limits. */
import type { Config } from '../../../config/config.ts'
import { makeClient, type RedisClient } from '../../../stores/redis/clients.ts'

export type CountingStore = { client: RedisClient; prefix: string; close(): void }

const COUNTING_MAX_MS = 250

/**
 * The servers of the hot store on a separate connection. Undefined in the embedded shape, and if
 * nothing is limited.
 */
export function openCountingStore({ stores, limits }: Config): CountingStore | undefined {
  const isCounted = [limits.viewer, limits.service, limits.client, limits.address, limits.anonymous].some(
    (rate) => rate !== undefined && rate !== 'none',
  )
  if (stores.redis === undefined || !isCounted) return undefined
  // A request waits only this long for its count. Then the process counts for itself.
  const client = makeClient({ ...stores.redis, commandTimeoutMs: COUNTING_MAX_MS })
  // Without a listener, an error would end the process. Failed calls report it, and the process counts in memory.
  client.on('error', () => {})
  return { client, prefix: stores.redis.prefix, close: () => client.disconnect() }
}
