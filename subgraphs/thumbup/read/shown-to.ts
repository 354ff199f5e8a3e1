/** Others than its audience see a restricted subject as one that nobody ever marked (`subgraphs/audience.ts`). */
import type { Subject, ViewerId } from '../../../core/domain.ts'
import type { ThumbupLoaders } from '../../../loaders/thumbup.ts'

type Now<T> = T | Promise<T>

export function makeShownTo({ isRestricted }: { isRestricted(subject: Subject): boolean }) {
  /** The shown value, or the one of an unmarked subject. Null if a store that knows the audience is down. */
  return function shownTo<T>(
    { maySee }: Pick<ThumbupLoaders, 'maySee'>,
    subject: Subject,
    viewer: ViewerId | undefined,
    unmarked: T,
    show: () => Now<T | null>,
  ): Now<T | null> {
    if (!isRestricted(subject)) return show()
    if (viewer === undefined) return unmarked
    return maySee.load({ viewer, ...subject }).then((may) => (may === null ? null : may ? show() : unmarked))
  }
}
