/**
 * The counts of some subjects as a stream for one subscriber: what changes within a window comes as one event, of each
 * subject the newest. So a slow subscriber never holds more than his subjects.
 *
 * Where following was interrupted the counts are read, as the stores have them by then, and what is newer than what was told
 * is told. A lost connection is a gap of each subject: they are closed together, by one read for all gaps of a window. With the
 * count cache down a stream opens all the same and is silent until it is back.
 */
import type { Clock, Timer } from '../../core/clock.ts'
import { saysDown, type Degraded } from '../../core/degraded.ts'
import type { Subject } from '../../core/domain.ts'
import type { CountReads } from '../../loaders/counts.ts'
import type { CountCache, CountedSubject } from '../../stores/count-cache.ts'

/** Milliseconds before the count cache is asked again. */
const AGAIN_MS = 1_000

/** Ends when the subscriber returns it. Rejects, without a collector, with HOT_STORE_UNAVAILABLE. */
export async function openCountStream(
  clock: Clock,
  cache: Pick<CountCache, 'followCounts'>,
  counts: Pick<CountReads, 'getFresh'>,
  subjects: readonly Subject[],
  windowMs: number,
  degraded?: Degraded,
): Promise<AsyncIterableIterator<readonly CountedSubject[]>> {
  const told = new Map<string, number>()
  const waiting = new Map<string, CountedSubject>()
  const pulls: ((result: IteratorResult<readonly CountedSubject[]>) => void)[] = []
  let isDue = false
  let timer: Timer | undefined
  let retry: Timer | undefined
  let catching: Timer | undefined
  let unfollow: (() => void) | undefined
  let ended = false

  function changed(counted: CountedSubject): void {
    if (ended || counted.counts.version <= (told.get(counted.oid) ?? 0)) return
    told.set(counted.oid, counted.counts.version)
    waiting.set(counted.oid, counted)
    timer ??= clock.after(windowMs, () => {
      timer = undefined
      isDue = true
      hand()
    })
  }

  function hand(): void {
    if (!isDue || waiting.size === 0) return
    const pull = pulls.shift()
    if (pull === undefined) return
    isDue = false
    const value = [...waiting.values()]
    waiting.clear()
    pull({ done: false, value })
  }

  async function begin(reads: boolean): Promise<void> {
    const stop = await cache.followCounts(subjects, changed, () => catchUpIn(windowMs))
    if (ended) return stop()
    unfollow = stop
    if (reads) await catchUp()
  }

  function catchUpIn(ms: number): void {
    if (ended) return
    catching ??= clock.after(ms, () => {
      catching = undefined
      catchUp().catch(() => undefined)
    })
  }

  async function catchUp(): Promise<void> {
    const without: Degraded = new Set()
    const found = await counts.getFresh(subjects, without)
    // Then some are the last known ones, or unknown, and what was missed is still to be found.
    if (without.has('recordStore')) catchUpIn(AGAIN_MS)
    subjects.forEach((subject, index) => {
      const now = found[index]
      if (now != null && now.version > 0) changed({ ...subject, counts: now })
    })
  }

  function beginLater(): void {
    retry = clock.after(AGAIN_MS, () => {
      begin(true).catch((error: unknown) => {
        if (ended) return
        if (saysDown(error, 'hotStore')) beginLater()
        else void end()
      })
    })
  }

  function end(): Promise<IteratorResult<readonly CountedSubject[]>> {
    ended = true
    timer?.cancel()
    retry?.cancel()
    catching?.cancel()
    unfollow?.()
    unfollow = undefined
    for (const pull of pulls.splice(0)) pull({ done: true, value: undefined })
    return Promise.resolve({ done: true, value: undefined })
  }

  try {
    await begin(false)
  } catch (error) {
    if (degraded === undefined || !saysDown(error, 'hotStore')) throw error
    degraded.add('hotStore')
    beginLater()
  }
  const iterator: AsyncIterableIterator<readonly CountedSubject[]> = {
    [Symbol.asyncIterator]: () => iterator,
    next() {
      if (ended) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve) => {
        pulls.push(resolve)
        hand()
      })
    },
    return: end,
    throw: end,
  }
  return iterator
}
