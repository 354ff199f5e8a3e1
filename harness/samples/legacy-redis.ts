/** A legacy Redis for one test, filled as the legacy system did. */
import { Redis } from 'ioredis'
import { startRedis, type TestServers } from '../deployment/redis-servers.ts'

export type LegacyRedis = {
  servers: TestServers
  url: string
  /** Writes without Tidemark. */
  client: Redis
  fill(viewer: string, plays: Record<string, number>, business?: string): Promise<void>
  read(viewer: string, business?: string): Promise<Record<string, number>>
  clear(): Promise<unknown>
  stop(): Promise<void>
}

export async function startLegacy(): Promise<LegacyRedis> {
  const servers = await startRedis()
  const url = servers.urls[0] as string
  const client = new Redis(url)
  client.on('error', () => {})
  const keyOf = (viewer: string, business: string): string => `played:${business}:${viewer}`
  return {
    servers,
    url,
    client,
    async fill(viewer, plays, business = 'video') {
      const entries = Object.entries(plays).flatMap(([oid, playedAt]) => [playedAt, oid])
      for (let from = 0; from < entries.length; from += 10_000)
        await client.zadd(keyOf(viewer, business), ...entries.slice(from, from + 10_000))
    },
    async read(viewer, business = 'video') {
      const values = await client.call('zrange', keyOf(viewer, business), '0', '-1', 'WITHSCORES')
      const flat = (values as unknown[]).flat().map(String)
      return Object.fromEntries(flat.flatMap((oid, at) => (at % 2 === 0 ? [[oid, Number(flat[at + 1])]] : [])))
    },
    clear: () => client.flushall(),
    async stop() {
      client.disconnect()
      await servers.stop()
    },
  }
}
