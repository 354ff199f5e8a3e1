/**
 * A viewer's changes as a stream for one subscriber. Following begins first, then what was missed since the subscriber's
 * token is read, then what came in meanwhile: so nothing falls between, and what is found twice is sent once.
 *
 * A slow subscriber never holds memory without bound: of a key only the newest change waits.
 *
 * With the hot store down a stream opens all the same and is silent until it is back; then it begins with what changed
 * since it was opened.
 */
import type { Businesses } from '../../core/businesses.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { saysDown, type Degraded } from '../../core/degraded.ts'
import type { ProgressChange } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { HotStore } from '../../stores/hot-store.ts'
import type { HistoryService } from './service.ts'

/** Milliseconds between two tries to follow while the hot store is down. */
const FOLLOW_AGAIN_MS = 1_000
const VERSIONS_PER_MS = 1_024

export function tokenOf(change: ProgressChange): string {
  return versionOf(change).toString(36)
}

function versionOf(change: ProgressChange): number {
  return change.kind === 'cleared' ? change.version : change.record.version
}

function versionOfToken(token: string): number {
  const version = /^[0-9a-z]{1,11}$/.test(token) ? Number.parseInt(token, 36) : Number.NaN
  if (Number.isSafeInteger(version)) return version
  throw new TidemarkError(
    'CURSOR_INVALID',
    `since "${token.slice(0, 24)}" was not made by this API: send the token of the last event, or leave since out`,
  )
}

/** Ends when the subscriber returns it. Throws CURSOR_INVALID, and without a collector HOT_STORE_UNAVAILABLE. */
export async function openChangeStream(
  service: HistoryService,
  hot: HotStore,
  businesses: Businesses,
  clock: Clock,
  viewer: Viewer,
  since: string | undefined,
  degraded?: Degraded,
): Promise<AsyncIterableIterator<ProgressChange>> {
  const sinceVersion = since === undefined ? undefined : versionOfToken(since)
  const queue = makeChangeQueue(businesses)
  try {
    await beginFollowing(service, hot, businesses, viewer, sinceVersion, queue)
  } catch (error) {
    if (degraded === undefined || !saysDown(error, 'hotStore')) throw error
    degraded.add('hotStore')
    const missedSince = sinceVersion ?? clock.now() * VERSIONS_PER_MS - 1
    followLater(clock, queue, () => beginFollowing(service, hot, businesses, viewer, missedSince, queue))
  }
  return queue.iterator
}

async function beginFollowing(
  service: HistoryService,
  hot: HotStore,
  businesses: Businesses,
  viewer: Viewer,
  sinceVersion: number | undefined,
  queue: ChangeQueue,
): Promise<void> {
  const unfollow = await service.follow(viewer, queue.push)
  try {
    if (sinceVersion !== undefined) {
      for (const change of await missedSince(hot, businesses, viewer.id, sinceVersion)) queue.push(change)
    }
  } catch (error) {
    unfollow()
    throw error
  }
  queue.onEnd(unfollow)
}

/**
 * What the hot store still knows of what changed. Settings have one version for all that they hold, so a clearing may be
 * told again, to which the answer is the same; it goes first and brings the subscriber's token no further, for what
 * follows it may be older.
 */
async function missedSince(hot: HotStore, businesses: Businesses, viewer: string, sinceVersion: number): Promise<ProgressChange[]> {
  const [settings, changes] = await Promise.all([hot.getSettings(viewer), hot.listChanges(viewer, businesses.numbers, sinceVersion)])
  const cleared = businesses.numbers.flatMap((business): ProgressChange[] => {
    const clearedAt = settings.version > sinceVersion ? settings.clearedAt[business] : undefined
    return clearedAt === undefined ? [] : [{ kind: 'cleared', viewer, business, clearedAt, version: sinceVersion }]
  })
  return [...cleared, ...changes]
}

/** Tries until it succeeds or the subscriber has gone. What is wrong besides a store that is down, the stream ends with. */
function followLater(clock: Clock, queue: ChangeQueue, begin: () => Promise<void>): void {
  let timer: Timer | undefined
  queue.onEnd(() => timer?.cancel())
  const plan = (): void => {
    timer = clock.after(FOLLOW_AGAIN_MS, () => {
      begin().catch((error: unknown) => {
        if (saysDown(error, 'hotStore')) plan()
        else void queue.iterator.return?.()
      })
    })
  }
  plan()
}

type ChangeQueue = ReturnType<typeof makeChangeQueue>

/** Newest change per key, in order of version of first waiting; changes of a business that left the configuration are dropped. */
function makeChangeQueue(businesses: Businesses) {
  const waiting = new Map<string, ProgressChange>()
  const endings: (() => void)[] = []
  const pulls: ((result: IteratorResult<ProgressChange>) => void)[] = []
  let ended = false

  function push(change: ProgressChange): void {
    if (ended || businesses.byNumber(change.business) === undefined) return
    const pull = pulls.shift()
    if (pull !== undefined) return pull({ done: false, value: change })
    const key = change.kind === 'cleared' ? `${change.business}` : `${change.business}:${change.oid}`
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
  /** Calls `ending` when the subscriber has gone, at once if he has. */
  function onEnd(ending: () => void): void {
    if (ended) ending()
    else endings.push(ending)
  }
  return { push, iterator, onEnd }
}
