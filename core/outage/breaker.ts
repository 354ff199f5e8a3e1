/**
 * A breaker keeps callers from waiting for a store that is down. The first call that ends with the store's "unavailable"
 * opens it. From then on calls are refused at once, and the breaker probes the store periodically. A caller's request is
 * not the probe, because that caller would wait for a store that may still be down. One failure is enough, because
 * adapters retry for seconds before they give up. A call may begin before the breaker opens and fail after it closes.
 * Such a failure is outdated and does not open it again.
 */
import type { Clock, Timer } from '../clock.ts'
import { UNAVAILABLE, saysDown, type AnyStoreName } from './degraded.ts'
import { TidemarkError } from '../errors.ts'

export type BreakerOptions = {
  /** Milliseconds between two checks whether the store is back. Minimum 1. */
  checkEveryMs: number
  /**
   * Milliseconds that a call may take before the store counts as down; its late answer is dropped. For adapters that wait longer than a
   * viewer would. If absent, the adapter's own limit applies.
   */
  patienceMs?: number
}

export type Breaker = {
  /** Runs the task. While the store is down, rejects at once with the store's code. */
  run<T>(task: () => Promise<T>): Promise<T>
  isOpen(): boolean
  /** Calls `listener` each time the store is back. */
  onClose(listener: () => void): void
  /** The number of times it opened. */
  opened(): number
  /** Ends the checks. */
  stop(): void
}

export function makeBreaker(
  clock: Clock,
  store: AnyStoreName,
  check: () => Promise<void>,
  options: BreakerOptions,
  onOpen: (error: unknown) => void,
): Breaker {
  const { checkEveryMs, patienceMs } = options
  const listeners: (() => void)[] = []
  let failure: unknown
  let opened = 0
  let timer: Timer | undefined
  let stopped = false

  async function run<T>(task: () => Promise<T>): Promise<T> {
    if (failure !== undefined) {
      throw new TidemarkError(UNAVAILABLE[store], `the ${WORDS[store]} is down and is checked every ${checkEveryMs} ms: try again`, {
        cause: failure,
      })
    }
    const openedBefore = opened
    try {
      return await bounded(task)
    } catch (error) {
      if (opened === openedBefore && saysDown(error, store)) open(error)
      throw error
    }
  }

  function bounded<T>(task: () => Promise<T>): Promise<T> {
    if (patienceMs === undefined) return task()
    return new Promise((resolve, reject) => {
      const late = clock.after(patienceMs, () =>
        reject(new TidemarkError(UNAVAILABLE[store], `the ${WORDS[store]} did not answer in ${patienceMs} ms: check whether it runs`)),
      )
      task()
        .finally(() => late.cancel())
        .then(resolve, reject)
    })
  }

  function open(error: unknown): void {
    failure = error
    opened++
    onOpen(error)
    planCheck()
  }

  function planCheck(): void {
    if (stopped) return
    timer = clock.after(checkEveryMs, () => {
      bounded(check).then(close, planCheck)
    })
  }

  function close(): void {
    failure = undefined
    for (const listener of listeners) listener()
  }

  return {
    run,
    isOpen: () => failure !== undefined,
    onClose: (listener) => void listeners.push(listener),
    opened: () => opened,
    stop() {
      stopped = true
      timer?.cancel()
    },
  }
}

const WORDS: Record<AnyStoreName, string> = { hotStore: 'hot store', log: 'log', recordStore: 'record store', legacyStore: 'legacy store' }
