/**
 * Who follows whom, and how a change reaches him. Listeners of this process are called directly, once the write is on
 * disk and so readable everywhere. Other processes on the same files are told through the relay, if there is one; what
 * they tell comes in by it.
 */
import type { ProgressChange, ViewerId } from '../../core/domain.ts'

/** Carries changes between the processes that share an environment. Delivery at most once; nothing depends on it but liveness. */
export type ChangeRelay = {
  /** Tells the other processes; not this one. */
  publish(change: ProgressChange): void
  /** Calls back for each change another process published. Returns how to stop. */
  onChange(listener: (change: ProgressChange) => void): () => void
}

export type Changes = {
  /** True if somebody may want to know; else making the change is wasted. */
  wanted(viewer: ViewerId): boolean
  publish(change: ProgressChange): void
  follow(viewer: ViewerId, listener: (change: ProgressChange) => void): () => void
  close(): void
}

export function makeChanges(relay: ChangeRelay | undefined): Changes {
  const listeners = new Map<ViewerId, Set<(change: ProgressChange) => void>>()
  const stopRelay = relay?.onChange(tell)

  function tell(change: ProgressChange): void {
    for (const listener of [...(listeners.get(change.viewer) ?? [])]) listener(change)
  }

  function follow(viewer: ViewerId, listener: (change: ProgressChange) => void): () => void {
    const ours = (change: ProgressChange): void => listener(change)
    const followers = listeners.get(viewer) ?? new Set()
    listeners.set(viewer, followers.add(ours))
    return () => {
      followers.delete(ours)
      if (followers.size === 0 && listeners.get(viewer) === followers) listeners.delete(viewer)
    }
  }

  return {
    wanted: (viewer) => relay !== undefined || listeners.has(viewer),
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
