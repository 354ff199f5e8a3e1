/**
 * A viewer's changes as a stream for one subscriber. Following begins first, and then changes since the subscriber's token are read. The
 * same happens after an interruption (`change-sequence.ts`).
 *
 * A slow subscriber needs bounded memory: only the newest change of each key waits.
 *
 * A claimed day is sent only live. A device that missed it asks for the day with its next report.
 *
 * If the hot store is down, the stream opens and stays silent until the store is back. It then begins with the changes since it was opened.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock, Timer } from '../../../core/clock.ts'
import { saysDown, type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import { ALL_BUSINESSES, type ProgressChange } from '../../../core/domain.ts'
import { shortened, TidemarkError } from '../../../core/errors.ts'
import { mistakeOfMoment } from '../../../core/input-limits.ts'
import { VERSIONS_PER_MS } from '../../../core/version.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { HotStore, KeyChange } from '../stores/hot-store.ts'
import { makeChangeSequence, coalescingKeyOf, versionOf, type Missed } from './change-sequence.ts'
import type { HistoryService } from '../write/service.ts'

/** Milliseconds between two attempts to read the hot store. */
const AGAIN_MS = 1_000
/** The clocks of processes differ by less than a day. */
const CLOCKS_DIFFER_MAX_MS = 86_400_000

export function tokenOf(change: ProgressChange): string {
  return versionOf(change).toString(36)
}

/** A token is a version, which contains a time. Throws CURSOR_INVALID unless a change may have that time. */
function versionOfToken(token: string, now: number): number {
  const version = /^[0-9a-z]{1,11}$/.test(token) ? Number.parseInt(token, 36) : Number.NaN
  const madeAt = Math.floor(version / VERSIONS_PER_MS)
  // After a version far ahead, the subscriber would receive nothing.
  if (mistakeOfMoment('since', madeAt, now) === undefined && madeAt <= now + CLOCKS_DIFFER_MAX_MS) return version
  throw new TidemarkError(
    'CURSOR_INVALID',
    `since "${shortened(token, 24)}" was not made by this API: send the token of the last event, or leave since out`,
  )
}

/** Ends when the subscriber returns it. Throws CURSOR_INVALID. */
export async function openChangeStream(
  service: HistoryService,
  hot: HotStore,
  businesses: Businesses,
  clock: Clock,
  viewer: Viewer,
  since: string | undefined,
  degraded: Degraded,
): Promise<AsyncIterableIterator<ProgressChange>> {
  const sinceVersion = since === undefined ? undefined : versionOfToken(since, clock.now())
  const openedAt = clock.now() * VERSIONS_PER_MS - 1
  const queue = makeChangeQueue(businesses)
  const readMissed = (version: number) => readMissedChanges(hot, businesses, viewer.id, version)
  const sequence = makeChangeSequence(readMissed, sinceVersion ?? openedAt, queue.push)

  async function begin(catchesUp: boolean): Promise<void> {
    // Before following, since a change may arrive together with the confirmation.
    if (catchesUp) sequence.hold()
    const unfollow = await service.follow(viewer, sequence.live, (side) => {
      if (side === 'begins') return sequence.hold()
      sequence.catchUp().catch(() => again(() => sequence.catchUp()))
    })
    try {
      if (catchesUp) await sequence.catchUp()
    } catch (error) {
      unfollow()
      throw error
    }
    queue.onEnd(unfollow)
  }
  const again = (task: () => Promise<void>): void => repeatLater(clock, queue, task)

  try {
    await begin(sinceVersion !== undefined)
  } catch (error) {
    noteOrThrow(error, 'hotStore', degraded)
    again(() => begin(true))
  }
  return queue.iterator
}

/**
 * The changes that the hot store still has. Settings have one version for all their values, so a clearing or the switch may be sent again,
 * which is harmless. They come first and do not advance the subscriber's token, since later changes in the list may be older. Settings are
 * read last, so that changes before a clearing are left out.
 */
async function readMissedChanges(hot: HotStore, businesses: Businesses, viewer: string, since: number): Promise<Missed> {
  const changes = await hot.listChanges(viewer, businesses.numbers, since)
  const { version, clearedAt, paused } = await hot.getSettings(viewer)
  const clearings = version > since ? businesses.numbers.filter((business) => clearedAt[business] !== undefined) : []
  const isThere = (change: KeyChange): boolean => change.record.deleted || change.record.viewedAt > (clearedAt[change.business] ?? 0)
  return {
    changes: [
      ...clearings.map((business): ProgressChange => ({
        kind: 'cleared',
        viewer,
        business,
        clearedAt: clearedAt[business] ?? 0,
        version: since,
      })),
      ...(version > since ? [{ kind: 'paused', viewer, business: ALL_BUSINESSES, paused, version: since } as const] : []),
      ...changes.filter(isThere),
    ],
    upTo: changes.at(-1)?.record.version ?? since,
    clearedUpTo: version,
  }
}

/** Retries until the task succeeds or the subscriber is gone. An error other than a store that is down ends the stream. */
function repeatLater(clock: Clock, queue: ChangeQueue, task: () => Promise<void>): void {
  let timer: Timer | undefined
  queue.onEnd(() => timer?.cancel())
  const plan = (): void => {
    timer = clock.after(AGAIN_MS, () => {
      task().catch((error: unknown) => {
        if (saysDown(error, 'hotStore')) plan()
        else void queue.iterator.return?.()
      })
    })
  }
  plan()
}

type ChangeQueue = ReturnType<typeof makeChangeQueue>

/** The newest change per key, in the order in which keys began to wait. Changes of a business that left the configuration are dropped. */
function makeChangeQueue(businesses: Businesses) {
  const waiting = new Map<string, ProgressChange>()
  const endings: (() => void)[] = []
  const pulls: ((result: IteratorResult<ProgressChange>) => void)[] = []
  let ended = false

  function push(change: ProgressChange): void {
    if (ended || (change.business !== ALL_BUSINESSES && businesses.byNumber(change.business) === undefined)) return
    const pull = pulls.shift()
    if (pull !== undefined) return pull({ done: false, value: change })
    const key = coalescingKeyOf(change)
    const before = waiting.get(key)
    if (before !== undefined && versionOf(before) >= versionOf(change)) return
    waiting.delete(key)
    waiting.set(key, change)
  }

  function end(): Promise<IteratorResult<ProgressChange>> {
    if (!ended) {
      ended = true
      for (const ending of endings) ending()
      for (const pull of pulls.splice(0)) pull({ done: true, value: undefined })
    }
    return Promise.resolve({ done: true, value: undefined })
  }

  const iterator: AsyncIterableIterator<ProgressChange> = {
    [Symbol.asyncIterator]: () => iterator,
    next() {
      if (ended) return Promise.resolve({ done: true, value: undefined })
      const first = waiting.entries().next()
      if (first.done) {
        return new Promise((resolve) => void pulls.push(resolve))
      }
      const [key, value] = first.value
      waiting.delete(key)
      return Promise.resolve({ done: false, value })
    },
    return: end,
    throw: end,
  }
  /** Calls `ending` when the subscriber is gone, at once if that has happened already. */
  function onEnd(ending: () => void): void {
    if (ended) ending()
    else endings.push(ending)
  }
  return { push, iterator, onEnd }
}
