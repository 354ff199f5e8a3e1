/** The fields of `MarkPayload` that need a read. They are read only if the operation selects them. */
import type { Subject } from '../../core/domain.ts'
import type { MarkPayload } from './answers.ts'
import type { ThumbupContext } from './context.ts'
import type { CountKind, makeShownCounts } from './read/shown-counts.ts'

export function makePayloadFields({ loadCount }: Pick<ReturnType<typeof makeShownCounts>, 'loadCount'>) {
  function countAfter(
    context: ThumbupContext,
    { key, journaledMark }: MarkPayload,
    kind: CountKind,
  ): number | null | Promise<number | null> {
    if (key === undefined) return null
    return loadCount(context.loaders, subjectOf(key), key.viewer, kind, journaledMark)
  }

  return {
    async state({ key, changed, outcome }: MarkPayload, _: unknown, context: ThumbupContext) {
      if (key === undefined) return null
      if (outcome === 'ACCEPTED' && changed !== false) return 'PENDING'
      const held = await context.loaders.marks.load(key)
      // A repeated mark is not persisted yet either, but the public counts already include it.
      return held && (held.pending && held.counted !== held.mark ? 'PENDING' : 'SETTLED')
    },
    likeCount: (payload: MarkPayload, _: unknown, context: ThumbupContext) => countAfter(context, payload, 'likes'),
    dislikeCount: (payload: MarkPayload, _: unknown, context: ThumbupContext) => countAfter(context, payload, 'dislikes'),
  }
}

function subjectOf({ business, oid }: Subject): Subject {
  return { business, oid }
}
