/**
 * Port: a setting that changes while processes run. Every process holds the newest valid value it knows, and its parts follow it. A source
 * that is not available, or that has an invalid value, changes nothing: the last valid value stays, and one log line has the reason.
 *
 * Values of one source have growing versions. Two processes may hold different versions for a moment. Sources: a fixed value (below), a
 * watched file (`cli/process/live-file.ts`), and a versioned key in Redis (`stores/redis/live-value.ts`).
 */
export type Versioned<T> = {
  readonly value: T
  /** Whole, grows with each change. 0: the value of the configuration, because the source has none yet. */
  readonly version: number
}

export type LiveValue<T> = {
  current(): Versioned<T>
  /** Calls the listener after each change, until the returned function is called. Not for the current value. */
  follow(listener: (now: Versioned<T>) => void): () => void
  /** Ends watching. `current` stays. Idempotent. */
  stop(): Promise<void>
}

/** A source that can be written. */
export type LiveSource<T> = {
  /** The stored value, or undefined if there is none. Throws CONFIG_INVALID for an invalid one. */
  read(): Promise<Versioned<T> | undefined>
  /**
   * Compare-and-set: stores this value as the next version if `expectedVersion` is the current one (0: none is stored). Throws
   * LIVE_VALUE_CHANGED otherwise, and CONFIG_INVALID for an invalid value. Neither changes anything.
   */
  change(value: unknown, expectedVersion: number): Promise<Versioned<T>>
}

/** A value that never changes. */
export function fixedValue<T>(value: T): LiveValue<T> {
  return { current: () => ({ value, version: 0 }), follow: () => () => undefined, stop: () => Promise.resolve() }
}

/** The part that sources share: the current value and its listeners. `onError` gets the failures of listeners. */
export function makeHeldValue<T>(first: Versioned<T>, onError: (error: unknown) => void) {
  let current = first
  const listeners = new Set<(now: Versioned<T>) => void>()

  return {
    current: (): Versioned<T> => current,

    follow(listener: (now: Versioned<T>) => void): () => void {
      // A separate function per call, so that one function may follow twice.
      const own = (now: Versioned<T>): void => listener(now)
      listeners.add(own)
      return () => void listeners.delete(own)
    },

    /** An older version, and the current one, are ignored: messages may be late or repeated. */
    replace(next: Versioned<T>): void {
      if (next.version <= current.version) return
      current = next
      for (const tell of [...listeners]) {
        try {
          tell(next)
        } catch (error) {
          onError(error)
        }
      }
    },
  }
}
