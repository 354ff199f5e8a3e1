/** What the servers of the feed benchmarks, each a child process, and their parent say to each other. */

/** The last two are other gateways: see bench/gateway/peers/feed.mjs. */
export type FeedServerKind = 'ceiling' | 'engine' | 'gateway' | 'hive-native' | 'apollo'
export type FeedServerMessage = { kind: 'listening'; url: string } | { kind: 'usage'; cpuMicros: number }

/** Tells the parent where the server is, and then, each time it asks, the CPU time used so far. Ends with the parent. */
export function reportToParent(url: string): void {
  const send = (message: FeedServerMessage) => process.send?.(message)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    send({ kind: 'usage', cpuMicros: user + system })
  })
  process.on('disconnect', () => process.exit())
  send({ kind: 'listening', url })
}
