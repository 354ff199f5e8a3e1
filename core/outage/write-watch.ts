/**
 * Watches whether the hot store takes writes. A full Redis answers every read and refuses every write. Its breaker stays
 * closed, and processes that only read notice nothing. A refused writer therefore reports it here. A serving process
 * also probes by itself (`start`), so that it learns of refusals in other processes. Writes are still tried, because a
 * store that is nearly full takes some and refuses others. The store, or a part of it (`part-breaker.ts`), counts as
 * refusing until it confirms that it takes writes (`check` of the port).
 */
import type { Clock, Timer } from '../clock.ts'
import { saysDown, saysFull } from './degraded.ts'
import type { ViewerId } from '../domain.ts'
import { PartOutage } from './part-outage.ts'

export type WriteWatch = {
  /** A write for these, or for nobody in particular, failed. Nothing happens unless the store is full. */
  failed(viewers: readonly ViewerId[], error: unknown): void
  isRefusing(viewer: ViewerId): boolean
  /** Does any part of it? */
  isOpen(): boolean
  /** Calls `listener` each time a part, or with undefined the whole, takes writes again. */
  onClose(listener: (part: number | undefined) => void): void
  /** How often it began to refuse. */
  opened(): number
  /** Asks from now on, whether anybody was refused or not. */
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

  function refuse(part: number | undefined, error: unknown): void {
    if (refusing.has(part)) return
    refusing.add(part)
    // Parts that are full one after the other are one outage.
    if (refusing.size === 1) opened++
    onOpen(error)
    plan()
  }

  function plan(): void {
    if (timer !== undefined || mode === 'stopped' || (mode === 'as needed' && refusing.size === 0)) return
    timer = clock.after(checkEveryMs, () => {
      // Only then the next one: a store that does not answer is asked once.
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
      if (isRefusal(error)) refuse(part, error)
      return
    }
    if (refusing.delete(part)) listeners.forEach((listener) => listener(part))
  }

  return {
    failed(viewers, error) {
      if (!saysFull(error)) return
      if (viewers.length === 0) refuse(undefined, error)
      for (const viewer of viewers) refuse(store.partOf?.(viewer), error)
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

/** A region that is out of reach is seen by the reads of its viewers: it says nothing about others. */
function isRefusal(error: unknown): boolean {
  return saysFull(error) || (saysDown(error, 'hotStore') && !(error instanceof PartOutage))
}
