/**
 * Notes: the highest version of each key, for at least `keepMs`. They are in two generations. A note goes to the newer one. When that is
 * `keepMs` old, it becomes the older one, and the older one is forgotten. A note therefore stores no time, and forgetting costs nothing.
 *
 * The newer generation is also closed when it has `keysMax` keys. The keys of the older one are then forgotten too early, and `onLost` gets
 * each of them.
 */
import type { Clock } from '../../../core/clock.ts'

export type NotesOptions = {
  /** Milliseconds for which a note is kept at least. Up to twice that. */
  keepMs: number
  /** Keys of a generation. Minimum 1. */
  keysMax: number
}

export type Notes = {
  note(key: string, version: number): void
  /** 0 if there is no note. */
  versionOf(key: string): number
  size(): number
}

export function makeNotes(clock: Clock, { keepMs, keysMax }: NotesOptions, onLost: (key: string, version: number) => void): Notes {
  let newer = new Map<string, number>()
  let older = new Map<string, number>()
  let beganAt = clock.now()
  let olderEndedAt = -Infinity

  function turnIfDue(): void {
    const now = clock.now()
    const isOld = now - beganAt >= keepMs
    if (!isOld && newer.size < keysMax) return
    const lost = now - olderEndedAt < keepMs ? older : new Map<string, number>()
    older = newer
    newer = new Map()
    beganAt = now
    olderEndedAt = now
    for (const [key, version] of lost) if (!older.has(key)) onLost(key, version)
  }

  return {
    note(key, version) {
      turnIfDue()
      newer.set(key, Math.max(version, newer.get(key) ?? 0))
    },
    versionOf: (key) => Math.max(newer.get(key) ?? 0, older.get(key) ?? 0),
    size: () => newer.size + older.size,
  }
}
