/**
 * Windows of a job. A window collects the batches of all partitions until the first batch is `windowMs` old, or until the window holds
 * `keysMax` keys. It persists them together, each key once. A subject that a thousand viewers liked within a window therefore has one update
 * of its counts, instead of one per partition and batch.
 *
 * A batch resolves, and is committed, when its window is persisted. It rejects if that fails, and comes again. A batch that arrives during
 * the persist step opens the next window. Later messages of a partition wait in the log: a mark that was flushed right after its partition's
 * batch is counted within two windows.
 */
import type { Clock, Timer } from '../core/clock.ts'
import type { MarkKey } from '../core/domain.ts'
import { distinctKeys } from '../core/progress-key.ts'

/** `offset`: the position of the partition after the batch. */
export type WindowBatch = { partition: number; offset: number; keys: readonly MarkKey[] }
export type WindowOffset = { partition: number; offset: number }

export type WindowOptions = {
  /** Milliseconds; 0: every batch separately. */
  windowMs: number
  /** Minimum 1. */
  keysMax: number
}

export type Windows = {
  add(batch: WindowBatch): Promise<void>
  /** Persists the open window at once, and each later batch as it comes. Resolves when nothing is under way. */
  stop(): Promise<void>
}

type Open = { since: number; batches: WindowBatch[]; keys: number; closed: PromiseWithResolvers<void>; timer: Timer | undefined }

/** An open window looks this often whether `windowMs` changed. */
const LOOK_MS = 1_000

export function makeWindows(
  clock: Clock,
  persist: (keys: readonly MarkKey[], offsets: readonly WindowOffset[]) => Promise<unknown>,
  options: WindowOptions,
): Windows {
  let open: Open | undefined
  let stopped = false
  const underWay = new Set<Promise<void>>()

  function add(batch: WindowBatch): Promise<void> {
    open ??= begin()
    open.batches.push(batch)
    open.keys += batch.keys.length
    const { closed } = open
    if (stopped || options.windowMs === 0 || open.keys >= options.keysMax) close(open)
    return closed.promise
  }

  function begin(): Open {
    const window: Open = { since: clock.now(), batches: [], keys: 0, closed: Promise.withResolvers(), timer: undefined }
    if (options.windowMs > 0) closeInTime(window)
    return window
  }

  function closeInTime(window: Open): void {
    const leftMs = window.since + options.windowMs - clock.now()
    if (leftMs <= 0) return close(window)
    window.timer = clock.after(Math.min(leftMs, LOOK_MS), () => closeInTime(window))
  }

  function close(window: Open): void {
    if (open === window) open = undefined
    window.timer?.cancel()
    const offsets = window.batches.map(({ partition, offset }) => ({ partition, offset }))
    const work = persist(distinctKeys(window.batches.flatMap(({ keys }) => keys)), offsets).then(
      () => window.closed.resolve(),
      (error: unknown) => window.closed.reject(error),
    )
    const tracked = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  return {
    add,
    async stop() {
      stopped = true
      if (open !== undefined) close(open)
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
