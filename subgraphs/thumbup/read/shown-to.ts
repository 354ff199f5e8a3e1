/** Others than its audience see a restricted subject as one that nobody ever marked (`subgraphs/audience.ts`). */
import type { Subject } from '../../../core/domain.ts'
import type { ThumbupContext } from '../context.ts'

type Now<T> = T | Promise<T>
type Show<T, Known> = (context: ThumbupContext, subject: Subject, known?: Known) => Now<T | null>

export function makeShownTo({ isRestricted }: { isRestricted(subject: Subject): boolean }) {
  /**
   * The shown value, or the one of an unmarked subject. Null if a store that knows the audience is down.
   *
   * `show` gets `context`, `subject` and `known` as arguments, so a caller can use one function for all subjects. A page has a hundred
   * counts, and creating a function for each count takes longer than the check.
   */
  return function shownTo<T, Known>(
    context: ThumbupContext,
    subject: Subject,
    unmarked: T,
    show: Show<T, Known>,
    known?: Known,
  ): Now<T | null> {
    return isRestricted(subject) ? shownToAudience(context, subject, unmarked, show, known) : show(context, subject, known)
  }
}

async function shownToAudience<T, Known>(
  context: ThumbupContext,
  subject: Subject,
  unmarked: T,
  show: Show<T, Known>,
  known: Known | undefined,
): Promise<T | null> {
  const { loaders, viewer } = context
  if (viewer === undefined) return unmarked
  const may = await loaders.maySee.load({ viewer: viewer.id, ...subject })
  if (may === null) return null
  return may ? show(context, subject, known) : unmarked
}
