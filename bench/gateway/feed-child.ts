/** The messages between the servers of the feed benchmarks, which are child processes, and their parent. */

/** The last two are other gateways: see bench/gateway/peers/feed.mjs. */
export type FeedServerKind = 'ceiling' | 'engine' | 'gateway' | 'hive-native' | 'apollo'
export type FeedServerMessage = { kind: 'listening'; url: string } | { kind: 'usage'; cpuMicros: number }

/** Reports the address of the server to the parent, and on each request the CPU time so far. Ends with the parent. */
export function reportToParent(url: string): void {
  const send = (message: FeedServerMessage) => process.send?.(message)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    send({ kind: 'usage', cpuMicros: user + system })
  })
  process.on('disconnect', () => process.exit())
  send({ kind: 'listening', url })
}
