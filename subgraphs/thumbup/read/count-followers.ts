/**
 * The subscribers of counts in this process. A followed subject has one entry with its last reported counts and its streams. One
 * subscription of the count cache delivers the changes for all of them.
 *
 * Any client can cause this memory, so it is small. The key of a subject is its oid, the string that the request already holds. A single
 * follower needs no set, and objects for clients are made when a client reads.
 *
 * Changes may be missed while a connection is lost. When it is back, the counts of all subjects are read once, in chunks, and streams get
 * the newer ones. With the count cache down, a stream opens and stays silent until the cache is back.
 */
import type { Clock, Timer } from '../../../core/clock.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import type { Subject, CountedSubject } from '../../../core/domain.ts'
import type { CountReads } from '../../../loaders/counts.ts'
import type { CountCache, CountFollowing } from '../stores/count-cache.ts'
import { openCountStream, type CountStream, type Followed } from './count-stream.ts'
import { makeFollowedSubjects } from './followed-subjects.ts'

export type CountFollowers = {
  /** Ends when the subscriber returns it. */
  open(subjects: readonly Subject[], degraded: Degraded): Promise<AsyncIterableIterator<readonly CountedSubject[]>>
  figures(): { streams: number; subjects: number }
}

/** Milliseconds before unread counts are read again. */
const AGAIN_MS = 1_000
/** Subjects per read after a gap. */
const LOT = 500

export function makeCountFollowers(
  clock: Clock,
  cache: Pick<CountCache, 'followCounts'>,
  counts: Pick<CountReads, 'getFresh'>,
  windowMs: number,
): CountFollowers {
  const followed = makeFollowedSubjects()
  const streams = new Set<CountStream>()
  let following: CountFollowing | undefined
  let catching: Timer | undefined
  let isCatchingUp = false

  async function open(given: readonly Subject[], degraded: Degraded): Promise<AsyncIterableIterator<readonly CountedSubject[]>> {
    const stream = openCountStream(clock, windowMs, () => close(stream))
    stream.followed = followed.attach(given, stream)
    streams.add(stream)
    following ??= cache.followCounts(followed.changed, () => catchUpIn(windowMs))
    try {
      await following.add(stream.followed)
    } catch (error) {
      if (!saysDown(error, 'hotStore')) {
        void stream.iterator.return?.()
        throw error
      }
      degraded.add('hotStore')
    }
    return stream.iterator
  }

  function close(stream: CountStream): void {
    if (!streams.delete(stream)) return
    followed.detach(stream)
    following?.remove(stream.followed)
    stream.followed = []
    if (streams.size > 0) return
    following?.stop()
    following = undefined
    catching?.cancel()
    catching = undefined
    followed.clear()
  }

  /** Connections are lost together, each with a gap of many subjects. One read closes all gaps of a window. */
  function catchUpIn(ms: number): void {
    if (streams.size === 0) return
    catching ??= clock.after(ms, () => {
      catching = undefined
      if (isCatchingUp) return catchUpIn(AGAIN_MS)
      isCatchingUp = true
      catchUp(followed.all())
        .then(
          (isWhole) => isWhole || catchUpIn(AGAIN_MS),
          () => catchUpIn(AGAIN_MS),
        )
        .finally(() => (isCatchingUp = false))
    })
  }

  /** False if some counts are unknown or only the last known ones. Missed changes must then be read again. */
  async function catchUp(all: readonly Followed[]): Promise<boolean> {
    let isWhole = true
    for (let at = 0; at < all.length && streams.size > 0; at += LOT) {
      const lot = all.slice(at, at + LOT)
      const without: Degraded = new Set()
      const found = await counts.getFresh(lot, without)
      if (without.has('recordStore')) isWhole = false
      lot.forEach((entry, index) => {
        const now = found[index]
        if (now != null) followed.changed({ business: entry.business, oid: entry.oid, counts: now })
      })
    }
    return isWhole
  }

  return {
    open,
    figures: () => ({ streams: streams.size, subjects: followed.count() }),
  }
}
