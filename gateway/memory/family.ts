/**
 * The holdings of one prepared operation, such as its variants. They are released together with the operation. Each of its forms has a
 * family within that family.
 */
import type { ClientMemory, Holding, Kind } from './client-memory.ts'

export type Family = {
  /** Same as ClientMemory.hold. After the release a new value is evicted at once. */
  hold(kind: Kind, bytes: number, costMs: number, evicted: () => void): Holding
  release(): void
}

export function makeFamily(memory: Pick<ClientMemory, 'hold'>): Family {
  let members: Set<Holding> | undefined = new Set()
  return {
    hold(kind, bytes, costMs, evicted) {
      if (members === undefined) {
        evicted()
        return NOTHING_HELD
      }
      // The memory may evict the value before it returns.
      let holding = NOTHING_HELD
      let gone = false
      const member: Holding = {
        touch: () => holding.touch(),
        release() {
          members?.delete(member)
          holding.release()
        },
      }
      holding = memory.hold(kind, bytes, costMs, () => {
        gone = true
        members?.delete(member)
        evicted()
      })
      if (!gone) members.add(member)
      return member
    },
    release() {
      const released = members ?? []
      members = undefined
      for (const holding of released) holding.release()
    },
  }
}

/** For an operation that the operator pinned. The values made before `seal` stay; values that clients add afterwards can be evicted. */
export function makePinnedFamily(memory: ClientMemory): Family & { seal(): number } {
  let pinned = 0
  let sealed = false
  return {
    hold(kind, bytes, costMs, evicted) {
      if (sealed) return memory.hold(kind, bytes, costMs, evicted)
      pinned += bytes
      return NOTHING_HELD
    },
    release() {},
    seal() {
      sealed = true
      return pinned
    },
  }
}

export const NOTHING_HELD: Holding = { touch() {}, release() {} }
