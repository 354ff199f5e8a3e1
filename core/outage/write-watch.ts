/**
 * Watches whether the hot store accepts writes. A full Redis answers every read and refuses every write. Its breaker stays closed, and
 * processes that only read notice nothing. A refused writer therefore reports it here. A serving process also probes by itself (`start`),
 * so that it learns of refusals in other processes. Writes are still tried, because a store that is nearly full accepts some and refuses
 * others. The store, or a part of it (`part-breaker.ts`), counts as refusing until it confirms that it accepts writes (`check` of the
 * port). If only some parts are full, the error names them (`PartFull`), and the other parts do not count as refusing.
 */
import type { Clock, Timer } from '../clock.ts'
import { saysDown, saysFull } from './degraded.ts'
import type { ViewerId } from '../domain.ts'
import { PartFull, PartOutage } from './part-outage.ts'

export type WriteWatch = {
  /** A write for these viewers, or for no particular viewer, failed. Nothing happens unless the store is full. */
  failed(viewers: readonly ViewerId[], error: unknown): void
  isRefusing(viewer: ViewerId): boolean
  /** True if any part of it refuses writes. */
  isOpen(): boolean
  /** Calls `listener` each time a part, or with undefined the whole store, accepts writes again. */
  onClose(listener: (part: number | undefined) => void): void
  /** The number of times it began to refuse. */
  opened(): number
  /** Starts regular checks, whether or not a write was refused. */
  start(): void
  stop(): void
}

type WatchedStore = { partOf?(viewer: ViewerId): number; check(part?: number): Promise<void> }

export function makeWriteWatch(
  clock: Clock,
  store: WatchedStore,
  { checkEveryMs }: { checkEveryMs: number },
  onOpen: (error: unknown) => void,
): WriteWatch {
  /** Parts, and undefined for the whole. */
  const refusing = new Set<number | undefined>()
  const listeners: ((part: number | undefined) => void)[] = []
  let opened = 0
  let timer: Timer | undefined
  let mode: 'as needed' | 'always' | 'stopped' = 'as needed'

  function refuse(parts: Iterable<number | undefined>, error: unknown): void {
    const before = refusing.size
    for (const part of parts) refusing.add(part)
    if (refusing.size === before) return
    // Parts that are full one after the other are one outage.
    if (before === 0) opened++
    onOpen(error)
    plan()
  }

  function plan(): void {
    if (timer !== undefined || mode === 'stopped' || (mode === 'as needed' && refusing.size === 0)) return
    timer = clock.after(checkEveryMs, () => {
      // The next check waits for this one, so that a store without an answer gets one request at a time.
      void look().finally(() => {
        timer = undefined
        plan()
      })
    })
  }

  async function look(): Promise<void> {
    const parts = [...refusing]
    if (mode === 'always' && !refusing.has(undefined)) parts.push(undefined)
    await Promise.all(parts.map(ask))
  }

  async function ask(part: number | undefined): Promise<void> {
    try {
      await (part === undefined ? store.check() : store.check(part))
    } catch (error) {
      if (!isRefusal(error)) return
      const parts: ReadonlySet<number | undefined> = error instanceof PartFull ? error.parts : new Set([part])
      refuse(parts, error)
      // If only parts of the store are full, the others accept writes. The store as a whole then no longer counts as refusing.
      if (parts.has(part)) return
    }
    if (refusing.delete(part)) listeners.forEach((listener) => listener(part))
  }

  return {
    failed(viewers, error) {
      if (!saysFull(error)) return
      if (error instanceof PartFull) refuse(error.parts, error)
      else refuse(viewers.length === 0 ? [undefined] : viewers.map((viewer) => store.partOf?.(viewer)), error)
    },
    isRefusing: (viewer) => refusing.size > 0 && (refusing.has(undefined) || refusing.has(store.partOf?.(viewer))),
    isOpen: () => refusing.size > 0,
    onClose: (listener) => void listeners.push(listener),
    opened: () => opened,
    start() {
      mode = 'always'
      plan()
    },
    stop() {
      mode = 'stopped'
      timer?.cancel()
    },
  }
}

/** An unreachable region is noticed by the reads of its viewers, and tells nothing about other regions. */
function isRefusal(error: unknown): boolean {
  return saysFull(error) || (saysDown(error, 'hotStore') && !(error instanceof PartOutage))
}
