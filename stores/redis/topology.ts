/** The nodes of a Cluster and the slots they hold, as the client knows them. A single server is its own topology. */
import { Cluster } from 'ioredis'
import type { Redis } from 'ioredis'
import type { RedisClient } from './clients.ts'

/** All commands that fail in one outage share a refresh. */
const REFRESH_MIN_MS = 250

export type Topology = ReturnType<typeof makeTopology>

export function makeTopology(client: RedisClient) {
  let refreshedAt = -Infinity
  let closed = false

  function refresh(): void {
    if (!closed && client instanceof Cluster && client.status === 'ready') client.refreshSlotsCache()
  }

  return {
    refresh,

    /** After a failed command, since another node may hold its slot now. */
    refreshSoon(): void {
      if (performance.now() - refreshedAt < REFRESH_MIN_MS) return
      refreshedAt = performance.now()
      refresh()
    },

    /** The node that holds this slot; undefined while it is unknown. */
    ownerOf(slot: number): Redis | undefined {
      if (!(client instanceof Cluster)) return client
      const owner = client.slots[slot]?.[0]
      return client.nodes('all').find(({ options }) => `${options.host}:${options.port}` === owner)
    },

    /** Ends all refreshes. */
    close(): void {
      closed = true
    },
  }
}
