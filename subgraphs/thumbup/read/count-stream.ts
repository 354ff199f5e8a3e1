/**
 * The counts of some subjects as a stream for one subscriber. Changes within a window come as one event, with the newest counts of each
 * subject. A slow subscriber holds one reference per changed subject, and reads the current counts.
 */
import type { Clock, Timer } from '../../../core/clock.ts'
import type { BusinessNumber, CountedSubject } from '../../../core/domain.ts'
import { openPullStream } from '../../pull-stream.ts'

export type CountStream = {
  followed: readonly Followed[]
  changed(entry: Followed): void
  readonly iterator: AsyncIterableIterator<readonly CountedSubject[]>
}

/** `onEnd` is called once, when the subscriber has returned the iterator. */
export function openCountStream(clock: Clock, windowMs: number, onEnd: () => void): CountStream {
  let waiting: Set<Followed> | undefined
  let isDue = false
  let timer: Timer | undefined

  function take(): readonly CountedSubject[] | undefined {
    if (!isDue || waiting === undefined) return undefined
    const value = Array.from(waiting, countedOf)
    isDue = false
    waiting = undefined
    return value
  }

  const { iterator, hand, hasEnded } = openPullStream(take, () => {
    timer?.cancel()
    waiting = undefined
    onEnd()
  })
  return {
    followed: [],
    iterator,
    changed(entry) {
      if (hasEnded()) return
      waiting = (waiting ?? new Set()).add(entry)
      timer ??= clock.after(windowMs, () => {
        timer = undefined
        isDue = true
        hand()
      })
    },
  }
}

function countedOf({ business, oid, likes, dislikes, version }: Followed): CountedSubject {
  return { business, oid, counts: { likes, dislikes, version } }
}

/** A followed subject. Counts of version 0: nothing was reported yet. */
export type Followed = {
  readonly business: BusinessNumber
  readonly oid: string
  likes: number
  dislikes: number
  version: number
  followers: CountStream | Set<CountStream>
}
