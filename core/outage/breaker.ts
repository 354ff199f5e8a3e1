/**
 * A breaker keeps callers from waiting for a store that is down. By default, the first call that ends with the store's "unavailable" opens
 * it. From then on calls are refused at once, and the breaker probes the store periodically. A caller's request is not the probe, because
 * that caller would wait for a store that may still be down. A call may begin before the breaker opens and fail after it closes. Such a
 * failure is outdated and does not open it again.
 *
 * One failure is enough, because adapters retry for seconds before they give up. The adapter of a record store retries only after a lost
 * connection. One of its calls may therefore fail while the store is healthy: the statement was killed, or it reads a long list from disk.
 * With `checksFirst`, the breaker opens only if a check fails too, or at the third failure in a row: a store may answer a check and no
 * reads. The failed call ends after this check. Otherwise the next waiting read would start before the breaker opens.
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
  /**
   * True: a failure opens the breaker only if the store does not answer a check within `checkEveryMs` either, or if it is the third one in
   * a row. Default false.
   */
  checksFirst?: boolean
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

/** With `checksFirst`, as many failures without an answer in between open the breaker without a check. */
const FAILURES_IN_ROW_MAX = 3

export function makeBreaker(
  clock: Clock,
  store: AnyStoreName,
  check: () => Promise<void>,
  options: BreakerOptions,
  onOpen: (error: unknown) => void,
): Breaker {
  const { checkEveryMs, patienceMs, checksFirst = false } = options
  const listeners: (() => void)[] = []
  let failure: unknown
  let opened = 0
  let timer: Timer | undefined
  let checking: Promise<boolean> | undefined
  let failuresInRow = 0
  let answered = 0
  let stopped = false

  async function run<T>(task: () => Promise<T>): Promise<T> {
    if (failure !== undefined) {
      throw new TidemarkError(UNAVAILABLE[store], `the ${WORDS[store]} is down and is checked every ${checkEveryMs} ms: try again`, {
        cause: failure,
      })
    }
    const openedBefore = opened
    const answeredBefore = answered
    try {
      const value = await bounded(task, patienceMs)
      answered++
      failuresInRow = 0
      return value
    } catch (error) {
      const isNew = (): boolean => opened === openedBefore && saysDown(error, store)
      if (isNew() && !(await mayBeAlone(answered > answeredBefore)) && isNew()) open(error)
      throw error
    }
  }

  /** The call failed, but the store may be well. `hasAnswered`: another call succeeded meanwhile. */
  async function mayBeAlone(hasAnswered: boolean): Promise<boolean> {
    if (!checksFirst) return false
    failuresInRow = hasAnswered ? 0 : failuresInRow + 1
    return failuresInRow < FAILURES_IN_ROW_MAX && answers()
  }

  /** Calls that fail together share one check. */
  function answers(): Promise<boolean> {
    checking ??= bounded(check, checkEveryMs)
      .then(
        () => true,
        () => false,
      )
      .finally(() => (checking = undefined))
    return checking
  }

  function bounded<T>(task: () => Promise<T>, ms: number | undefined): Promise<T> {
    if (ms === undefined) return task()
    return new Promise((resolve, reject) => {
      const late = clock.after(ms, () =>
        reject(new TidemarkError(UNAVAILABLE[store], `the ${WORDS[store]} did not answer in ${ms} ms: check whether it runs`)),
      )
      task()
        .finally(() => late.cancel())
        .then(resolve, reject)
    })
  }

  function open(error: unknown): void {
    failure = error
    failuresInRow = 0
    opened++
    onOpen(error)
    planCheck()
  }

  function planCheck(): void {
    if (stopped) return
    timer = clock.after(checkEveryMs, () => {
      bounded(check, patienceMs).then(close, planCheck)
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
