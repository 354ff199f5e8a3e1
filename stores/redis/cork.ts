/** Collects the commands of one turn of the event loop into one write per node. Under load, many requests then share a system call. */
import { Cluster } from 'ioredis'
import type { RedisClient } from './clients.ts'

/** Returns a function that holds the writes of this turn back until its end. */
export function makeCork(client: RedisClient): () => void {
  let isHolding = false
  return () => {
    if (isHolding) return
    isHolding = true
    const corked = corkStreams(client)
    setImmediate(() => {
      isHolding = false
      for (const stream of corked) stream.uncork()
    })
  }
}

function corkStreams(client: RedisClient) {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  const streams = nodes.flatMap((node) => (node.status === 'ready' ? [node.stream] : []))
  for (const stream of streams) stream.cork()
  return streams
}
