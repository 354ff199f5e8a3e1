/**
 * Changes of counts in this process, over one shard channel per region. A script may publish only to the slot of its keys, and a region is
 * a slot. There are therefore as many channels as regions (100 by default), however many subjects are followed. The server with the
 * channels also holds acknowledged marks, so its memory must not grow with the subjects that clients follow.
 *
 * A process subscribes to a region while it follows a subject of it, and receives every changed count of the region. Counts change in
 * windows of the persist step. The messages are few, each with many subjects, and the process filters them.
 */
import type { Subject, CountedSubject } from '../../../../core/domain.ts'
import type { CountFollowing } from '../count-cache.ts'
import type { Connection } from '../../../../stores/redis/connection.ts'
import { decodeChanges } from './count-values.ts'
import type { MarkLayout } from './keys.ts'
import { makeShardChannels } from '../../../../stores/redis/shard-channels.ts'

type Follower = { listener: (changed: CountedSubject) => void; onGap: () => void }

export function makeCountFollowing(connection: Connection, layout: MarkLayout) {
  const followers = new Set<Follower>()
  /** Followed subjects per region. */
  const counted = new Map<number, number>()
  const channels = makeShardChannels(
    connection,
    (_, message) => {
      for (const changed of decodeChanges(message)) for (const { listener } of [...followers]) notify(listener, changed)
    },
    (_, side) => {
      if (side === 'ends') for (const { onGap } of [...followers]) onGap()
    },
  )

  async function add(subjects: readonly Subject[]): Promise<void> {
    const unheard = new Set<number>()
    for (const subject of subjects) {
      const region = layout.regionOfSubject(subject)
      counted.set(region, (counted.get(region) ?? 0) + 1)
      if (!channels.isHeard(layout.countsChanged(region))) unheard.add(region)
    }
    if (unheard.size === 0) return
    const heard = await Promise.allSettled(
      Array.from(unheard, (region) => channels.subscribe(layout.countsChanged(region), layout.slot(region))),
    )
    const failed = heard.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  function remove(subjects: readonly Subject[]): void {
    for (const subject of subjects) {
      const region = layout.regionOfSubject(subject)
      const left = (counted.get(region) ?? 0) - 1
      if (left > 0) counted.set(region, left)
      else if (counted.delete(region)) channels.unsubscribe(layout.countsChanged(region))
    }
  }

  return {
    followCounts(listener: Follower['listener'], onGap: Follower['onGap'] = () => undefined): CountFollowing {
      const follower: Follower = { listener, onGap }
      followers.add(follower)
      return { add, remove, stop: () => void followers.delete(follower) }
    },

    close: () => channels.close(),
  }
}

/** A listener that throws is a bug to report. The process goes on, and other listeners get the change. */
function notify(listener: (changed: CountedSubject) => void, changed: CountedSubject): void {
  try {
    listener(changed)
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
