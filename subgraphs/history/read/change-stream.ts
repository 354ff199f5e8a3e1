/**
 * A viewer's changes as a stream for one subscriber. Following begins first, then what was missed since the subscriber's
 * token is read; the same where following was interrupted (`change-sequence.ts`).
 *
 * A slow subscriber never holds memory without bound: of a key only the newest change waits.
 *
 * With the hot store down a stream opens all the same and is silent until it is back; then it begins with what changed
 * since it was opened.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock, Timer } from '../../../core/clock.ts'
import { saysDown, type Degraded, noteOrThrow } from '../../../core/outage/degraded.ts'
import type { ProgressChange } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { VERSIONS_PER_MS } from '../../../core/version.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { HotStore, KeyChange } from '../stores/hot-store.ts'
import { makeChangeSequence, coalescingKeyOf, versionOf, type Missed } from './change-sequence.ts'
import type { HistoryService } from '../write/service.ts'

/** Milliseconds before the hot store is asked again. */
const AGAIN_MS = 1_000

export function tokenOf(change: ProgressChange): string {
  return versionOf(change).toString(36)
}

function versionOfToken(token: string): number {
  const version = /^[0-9a-z]{1,11}$/.test(token) ? Number.parseInt(token, 36) : Number.NaN
  if (Number.isSafeInteger(version)) return version
  throw new TidemarkError(
    'CURSOR_INVALID',
    `since "${token.slice(0, 24)}" was not made by this API: send the token of the last event, or leave since out`,
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
  const sinceVersion = since === undefined ? undefined : versionOfToken(since)
  const openedAt = clock.now() * VERSIONS_PER_MS - 1
  const queue = makeChangeQueue(businesses)
  const readMissed = (version: number) => readMissedChanges(hot, businesses, viewer.id, version)
  const sequence = makeChangeSequence(readMissed, sinceVersion ?? openedAt, queue.push)

  async function begin(catchesUp: boolean): Promise<void> {
    // Before following: a change may come in the same breath as the word that following has begun.
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
 * What the hot store still knows of what changed. Settings have one version for all that they hold, so a clearing may be
 * told again, to which the answer is the same; it goes first and brings the subscriber's token no further, for what
 * follows it may be older. Settings are read last: what they cleared is then left out of the changes.
 */
async function readMissedChanges(hot: HotStore, businesses: Businesses, viewer: string, since: number): Promise<Missed> {
  const changes = await hot.listChanges(viewer, businesses.numbers, since)
  const { version, clearedAt } = await hot.getSettings(viewer)
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
      ...changes.filter(isThere),
    ],
    upTo: changes.at(-1)?.record.version ?? since,
    clearedUpTo: version,
  }
}

/** Tries, now and then, until it succeeds or the subscriber has gone. What is wrong besides a store that is down, the stream ends with. */
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
  /** Calls `ending` when the subscriber has gone, at once if he has. */
  function onEnd(ending: () => void): void {
    if (ended) ending()
    else endings.push(ending)
  }
  return { push, iterator, onEnd }
}
