/**
 * Port: a setting that changes while processes run. Every process holds the newest valid value it knows, and its parts follow it. A source
 * that is not available, or that has an invalid value, changes nothing: the last valid value stays, and one log line has the reason.
 *
 * Values of one source have growing versions. Two processes may hold different versions for a moment. Sources: a fixed value (below), a
 * watched file (`cli/process/live-file.ts`), a folder of versions (`cli/process/live-folder.ts`), and a versioned key in Redis
 * (`stores/redis/live-value.ts`).
 */
import type { Clock } from './clock.ts'
import { makeWorker } from './worker.ts'

export type Versioned<T> = {
  readonly value: T
  /** Whole, grows with each change. 0: the value of the configuration, because the source has none yet. */
  readonly version: number
}

export type LiveValue<T> = {
  current(): Versioned<T>
  /**
   * Calls the listener after each change, until the returned function is called. Not for the current value. A listener that throws is called
   * again at the next poll.
   */
  follow(listener: (now: Versioned<T>) => void): () => void
  /** The reason why the newest value is not in use, or not in each part, as one sentence. Undefined: it is in use. */
  problem(): string | undefined
  /** Ends watching. `current` stays. Idempotent. */
  stop(): Promise<void>
}

/** An earlier or the current version, as it was stored. `note`: of the operator who set it. */
export type StoredVersion = { readonly version: number; readonly at: number; readonly value: unknown; readonly note?: string | undefined }

/** A source that can be written. */
export type LiveSource<T> = {
  /** The stored value, or undefined if there is none. Throws CONFIG_INVALID for an invalid one. */
  read(): Promise<Versioned<T> | undefined>
  /**
   * Compare-and-set: stores this value as the next version if `expectedVersion` is the current one (0: none is stored). Throws
   * LIVE_VALUE_CHANGED otherwise, and CONFIG_INVALID for an invalid value. Neither changes anything.
   */
  change(value: unknown, expectedVersion: number, note?: string): Promise<Versioned<T>>
  /** The last versions, newest first. At most `VERSIONS_KEPT`. */
  history(): Promise<readonly StoredVersion[]>
}

/** Versions that a source keeps. */
export const VERSIONS_KEPT = 100

/** A value that never changes. */
export function fixedValue<T>(value: T): LiveValue<T> {
  return { current: () => ({ value, version: 0 }), follow: () => () => undefined, problem: () => undefined, stop: () => Promise.resolve() }
}

/** The part that sources share: the current value and its listeners. `onError` gets the failures of listeners. */
export function makeHeldValue<T>(first: Versioned<T>, onError: (error: unknown) => void) {
  let current = first
  const listeners = new Set<(now: Versioned<T>) => void>()
  /** They lack the current value, because they threw. */
  const behind = new Set<(now: Versioned<T>) => void>()

  function tellThoseBehind(): void {
    for (const tell of behind) {
      try {
        tell(current)
        behind.delete(tell)
      } catch (error) {
        onError(error)
      }
    }
  }

  return {
    current: (): Versioned<T> => current,

    follow(listener: (now: Versioned<T>) => void): () => void {
      // A separate function per call, so that one function may follow twice.
      const own = (now: Versioned<T>): void => listener(now)
      listeners.add(own)
      return () => {
        listeners.delete(own)
        behind.delete(own)
      }
    },

    /** An older version, and the current one, are ignored: messages may be late or repeated. */
    replace(next: Versioned<T>): void {
      if (next.version <= current.version) return
      current = next
      for (const listener of listeners) behind.add(listener)
      tellThoseBehind()
    },

    /** Calls the listeners again that threw at the current value. */
    retry: tellThoseBehind,
  }
}

export type Followed<T> = {
  /** For messages, such as `the live configuration`. */
  name: string
  first: Versioned<T>
  /** The newest value; undefined: the source has none. A rejection leaves the last value. */
  read(current: Versioned<T>): Promise<Versioned<T> | undefined>
  pollMs: number
}

/** Reads at once when it is woken, and at an interval. `report` gets one sentence per problem, and again when the reason changes. */
export function followSource<T>(
  { name, first, read, pollMs }: Followed<T>,
  clock: Clock,
  report: (sentence: string) => void,
): LiveValue<T> & { wake(): Promise<void> } {
  let problem: string | undefined
  let isStopped = false
  const failures: unknown[] = []
  const held = makeHeldValue<T>(first, (error) => failures.push(error))
  const worker = makeWorker(
    clock,
    look,
    () => pollMs,
    (error) => complain([error], `the last value of ${name} stays`),
  )

  function complain(errors: readonly unknown[], consequence: string): void {
    const reasons = errors.map((error) => (error as Error).message.replaceAll('\n', '; '))
    const sentence = `${reasons.join('; ')}: ${consequence}`
    if (sentence !== problem && !isStopped) report(sentence)
    problem = sentence
  }

  async function look(): Promise<void> {
    const { version } = held.current()
    const found = await read(held.current())
    if (found !== undefined && found.version > version) held.replace(found)
    else held.retry()
    const errors = failures.splice(0)
    if (errors.length === 0) problem = undefined
    else complain(errors, `version ${held.current().version} of ${name} is not in use in each part, and the next poll tries again`)
  }

  return {
    current: held.current,
    follow: held.follow,
    problem: () => problem,
    wake: () => worker.wake(),
    async stop() {
      isStopped = true
      await worker.stop()
    },
  }
}
