/** The process messages between the workers of a deployment, within one process: each member has a relay to the others. */
import type { Relay } from '../../../stores/lmdb/changes.ts'

export function makeRelayHub<Change>(): () => Relay<Change> {
  const members = new Set<(change: Change) => void>()
  return () => {
    let own: ((change: Change) => void) | undefined
    return {
      publish(change) {
        for (const member of members) if (member !== own) member(change)
      },
      onChange(listener) {
        own = listener
        members.add(listener)
        return () => members.delete(listener)
      },
    }
  }
}
