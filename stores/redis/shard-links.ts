/** Connections for shard channels: one per node, made on demand. A link that ends is replaced, never reconnected. */
import type { Redis } from 'ioredis'

export type ShardLinks = ReturnType<typeof makeShardLinks>

/** `onLost`: the link ended, or its server gave a slot away. */
export function makeShardLinks(onMessage: (channel: string, message: Buffer) => void, onLost: (link: Redis) => void) {
  const links = new Map<string, Redis>()

  return {
    linkTo(node: Redis): Redis {
      const name = `${node.options.host}:${node.options.port}`
      const existing = links.get(name)
      if (existing !== undefined) return existing
      const link = node.duplicate({
        ...{ connectionName: 'tidemark-follower', enableOfflineQueue: true, lazyConnect: false, readOnly: false },
        // A lost link is not reconnected: its channels may belong to another node by now.
        ...{ autoResubscribe: false, retryStrategy: () => null },
      })
      links.set(name, link)
      link.on('error', () => undefined)
      link.on('smessageBuffer', (channel: Buffer | string, message: Buffer) => onMessage(String(channel), message))
      link.on('moved', () => onLost(link))
      link.on('end', () => {
        if (links.get(name) === link) links.delete(name)
        onLost(link)
      })
      return link
    },

    /** Ends the links that do not answer. */
    probe(): void {
      for (const link of links.values()) link.ping().catch(() => link.disconnect())
    },

    close(): void {
      for (const link of links.values()) link.disconnect()
    },
  }
}
