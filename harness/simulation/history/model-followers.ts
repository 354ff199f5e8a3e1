/** The followers of each viewer in the model of the hot store. */
import type { ProgressChange, ViewerId } from '../../../core/domain.ts'

type Listener = (change: ProgressChange) => void

export function makeModelFollowers(): { tell(change: ProgressChange): void; follow(viewer: ViewerId, listener: Listener): () => void } {
  const listeners = new Map<ViewerId, Set<Listener>>()
  return {
    tell(change) {
      for (const listener of listeners.get(change.viewer) ?? []) listener(change)
    },
    follow(viewer, listener) {
      const followers = listeners.get(viewer) ?? new Set()
      listeners.set(viewer, followers)
      const own: Listener = (change) => listener(change)
      followers.add(own)
      return () => followers.delete(own)
    },
  }
}
