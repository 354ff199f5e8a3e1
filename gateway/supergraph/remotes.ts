/**
 * The transports to remote subgraphs, shared by all engines of a process. If a reload does not change a partner's address, its
 * connections, its breaker state and its running queries stay.
 */
import type { Transport } from '../transports/transport.ts'

export type ClosableTransport = Transport & {
  /** True while calls are refused because the subgraph does not answer. */
  isDown?(): boolean
  close(): Promise<void>
}

export type Remotes = {
  /** Release each transport once. */
  acquire(name: string, url: string): { readonly transport: Transport; release(): void }
  isDown(name: string, url: string): boolean
}

export function makeRemotes(make: (name: string, url: string) => ClosableTransport, onError: (error: unknown) => void): Remotes {
  const open = new Map<string, { transport: ClosableTransport; users: number }>()
  const keyOf = (name: string, url: string): string => `${name}\n${url}`
  return {
    isDown: (name, url) => open.get(keyOf(name, url))?.transport.isDown?.() === true,
    acquire(name, url) {
      const key = keyOf(name, url)
      const entry = open.get(key) ?? { transport: make(name, url), users: 0 }
      open.set(key, entry)
      entry.users += 1
      let held = true
      return {
        transport: entry.transport,
        release() {
          if (!held) return
          held = false
          entry.users -= 1
          if (entry.users > 0) return
          open.delete(key)
          entry.transport.close().catch(onError)
        },
      }
    },
  }
}
