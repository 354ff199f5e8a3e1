/**
 * Followers of subjects' counts in this process, over a shard channel per subject. The put script publishes only for subjects
 * that somebody follows. A change is told once: of equal or older versions, such as those of a cache that was filled again,
 * nobody hears.
 */
import type { Subject, SubjectCounts } from '../../core/domain.ts'
import type { CountedSubject } from '../count-cache.ts'
import type { Connection } from './connection.ts'
import { decodeChange } from './count-values.ts'
import { makeFollowers } from './followers.ts'
import type { MarkLayout } from './mark-layout.ts'

export function makeCountFollowing(connection: Connection, layout: MarkLayout) {
  const followers = makeFollowers<SubjectCounts>(connection)

  function newerOnly(): (message: Buffer) => SubjectCounts | undefined {
    let told = -1
    return (message) => {
      const counts = decodeChange(message)
      if (counts.version <= told) return undefined
      told = counts.version
      return counts
    }
  }

  return {
    async followCounts(
      subjects: readonly Subject[],
      listener: (changed: CountedSubject) => void,
      onGap: () => void = () => undefined,
    ): Promise<() => void> {
      const distinct = new Map(subjects.map(({ business, oid }) => [`${business}:${oid}`, { business, oid }]))
      const following = await Promise.allSettled(
        [...distinct.values()].map((subject) => {
          const region = layout.regionOfSubject(subject)
          return followers.follow(
            layout.countChanged(region, subject),
            layout.slot(region),
            newerOnly(),
            (counts) => tell(listener, { ...subject, counts: { ...counts } }),
            (side) => {
              if (side === 'ends') onGap()
            },
          )
        }),
      )
      const stop = (): void => {
        for (const result of following) if (result.status === 'fulfilled') result.value()
      }
      const failed = following.find((result) => result.status === 'rejected')
      if (failed === undefined) return stop
      stop()
      throw failed.reason
    },

    close: followers.close,
  }
}

/** A listener that throws is a mistake to be seen, and no reason to end the process or to keep the change from others. */
function tell(listener: (changed: CountedSubject) => void, changed: CountedSubject): void {
  try {
    listener(changed)
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
