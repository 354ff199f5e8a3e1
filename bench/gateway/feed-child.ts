/** Messages between the servers of the feed benchmarks, each a child process, and their parent. */

/** The last two are other gateways (bench/gateway/peers/feed.mjs). */
export type FeedServerKind = 'ceiling' | 'engine' | 'gateway' | 'hive-native' | 'apollo'
export type FeedServerMessage = { kind: 'listening'; url: string } | { kind: 'usage'; cpuMicros: number }

/** Reports the server's URL to the parent, and the CPU time so far on each request. Ends with the parent. */
export function reportToParent(url: string): void {
  const send = (message: FeedServerMessage) => process.send?.(message)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    send({ kind: 'usage', cpuMicros: user + system })
  })
  process.on('disconnect', () => process.exit())
  send({ kind: 'listening', url })
}
