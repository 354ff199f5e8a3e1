/**
 * The followers of each address, and the delivery of changes to them. Listeners of this process are called directly, after the write is on
 * disk and readable everywhere. The relay, if there is one, carries changes to and from other processes on the same files. Progress is
 * followed by viewer, counts by subject.
 */
import type { ProgressChange, CountedSubject } from '../../core/domain.ts'

/** Carries changes between the processes that share an environment. Delivers at most once; only liveness depends on it. */
export type Relay<Change> = {
  /** Notifies the other processes, but not this one. */
  publish(change: Change): void
  /** Calls back for each change that another process published. Returns a function that ends it. */
  onChange(listener: (change: Change) => void): () => void
}

export type ChangeRelay = Relay<ProgressChange>
export type CountRelay = Relay<CountedSubject>

export type Changes<Change> = {
  /** True if this address may have followers. Otherwise the caller need not build the change. */
  wanted(address: string): boolean
  publish(change: Change): void
  follow(address: string, listener: (change: Change) => void): () => void
  close(): void
}

/** `addressOf` returns the address under which a change is followed. */
export function makeChanges<Change>(relay: Relay<Change> | undefined, addressOf: (change: Change) => string): Changes<Change> {
  const listeners = new Map<string, Set<(change: Change) => void>>()
  const stopRelay = relay?.onChange(tell)

  function tell(change: Change): void {
    for (const listener of [...(listeners.get(addressOf(change)) ?? [])]) listener(change)
  }

  function follow(address: string, listener: (change: Change) => void): () => void {
    const ours = (change: Change): void => listener(change)
    const followers = listeners.get(address) ?? new Set()
    listeners.set(address, followers.add(ours))
    return () => {
      followers.delete(ours)
      if (followers.size === 0 && listeners.get(address) === followers) listeners.delete(address)
    }
  }

  return {
    wanted: (address) => relay !== undefined || listeners.has(address),
    publish(change) {
      tell(change)
      relay?.publish(change)
    },
    follow,
    close() {
      stopRelay?.()
      listeners.clear()
    },
  }
}
