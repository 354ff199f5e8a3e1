/**
 * The breaker of the hot store: one per part (`partOf` of the port). An unreachable region of a Cluster is refused at
 * once and probed by itself, while all others continue. A store without parts has one breaker. A call for several
 * viewers counts for each of their parts. It is refused if one part is out, with an error that names the affected
 * viewers (`part-outage.ts`). The caller then repeats the call for the others.
 */
import { makeBreaker, type Breaker, type BreakerOptions } from './breaker.ts'
import type { Clock } from '../clock.ts'
import type { ViewerId } from '../domain.ts'
import { TidemarkError } from '../errors.ts'
import { PartOutage } from './part-outage.ts'

export type PartBreaker = Omit<Breaker, 'run' | 'isOpen' | 'onClose'> & {
  /** Calls `listener` each time a part is back; a store without parts is part 0. */
  onClose(listener: (part: number) => void): void
  /** Runs the task for these viewers; rejects at once while the store of one of them is down. */
  run<T>(viewers: readonly ViewerId[], task: () => Promise<T>): Promise<T>
  /** True if it is down for this viewer. */
  isOpenFor(viewer: ViewerId): boolean
  /** True if it is down for any viewer. */
  isOpen(): boolean
  /**
   * True if more than a tenth of the parts that calls have reached are down: with fewer than ten, one is enough. A store without parts: if
   * it is down.
   */
  isOpenForMany(): boolean
  /** True if it is down for all viewers. */
  isOpenForAll(): boolean
}

type PartedStore = { partOf?(viewer: ViewerId): number; check(part?: number): Promise<void> }

export function makePartBreaker(clock: Clock, store: PartedStore, options: BreakerOptions, onOpen: (error: unknown) => void): PartBreaker {
  const breakers = new Map<number, Breaker>()
  const listeners: ((part: number) => void)[] = []
  const partOf = (viewer: ViewerId): number => store.partOf?.(viewer) ?? 0
  let opened = 0
  let stopped = false

  const isOpen = (): boolean => countOpen() > 0
  const countOpen = (): number => [...breakers.values()].filter((breaker) => breaker.isOpen()).length

  function breakerOf(part: number): Breaker {
    const existing = breakers.get(part)
    if (existing !== undefined) return existing
    const check = () => (store.partOf === undefined ? store.check() : store.check(part))
    const breaker = makeBreaker(clock, 'hotStore', check, options, (error) => {
      // Parts that fail one after the other are one outage.
      if (countOpen() === 1) opened++
      onOpen(error)
    })
    breaker.onClose(() => listeners.forEach((listener) => listener(part)))
    if (stopped) breaker.stop()
    breakers.set(part, breaker)
    return breaker
  }

  async function run<T>(viewers: readonly ViewerId[], task: () => Promise<T>): Promise<T> {
    if (store.partOf === undefined) return breakerOf(0).run(task)
    const parts = [...new Set(viewers.map(partOf))]
    if (parts.length <= 1) return breakerOf(parts[0] ?? 0).run(task)
    const out = new Set(parts.filter((part) => breakerOf(part).isOpen()))
    if (out.size > 0) {
      const refusal = new TidemarkError('HOT_STORE_UNAVAILABLE', `${out.size} parts of the hot store are down: try again`)
      throw new PartOutage(refusal, (viewer) => out.has(partOf(viewer)))
    }
    const call = task()
    // Each part's breaker tracks the call, and counts a failure only if the call failed in that part.
    const shares = parts.map((part) =>
      breakerOf(part).run(() =>
        call.then(
          () => undefined,
          (error: unknown) => {
            if (!(error instanceof PartOutage) || viewers.some((viewer) => partOf(viewer) === part && error.concerns(viewer))) throw error
          },
        ),
      ),
    )
    await Promise.allSettled(shares)
    return call
  }

  return {
    run,
    isOpenFor: (viewer) => breakers.get(partOf(viewer))?.isOpen() === true,
    isOpen,
    isOpenForMany: () => countOpen() * 10 > breakers.size,
    isOpenForAll: () => store.partOf === undefined && isOpen(),
    onClose: (listener) => void listeners.push(listener),
    opened: () => opened,
    stop() {
      stopped = true
      for (const breaker of breakers.values()) breaker.stop()
    },
  }
}
