/** The fields of a user: their likes, and the likes that their subjects received. */
import { TidemarkError } from '../../core/errors.ts'
import type { MarkEntry, MarkPlace } from '../../core/domain.ts'
import { checkFirst } from '../../core/input-limits.ts'
import { idFrom } from '../../core/keys.ts'
import { SCOPE_MARKS_READ_ANY, requireViewer } from '../../core/viewer.ts'
import { resolveReference } from '../references.ts'
import { listOf } from './answers.ts'
import type { ThumbupBusinesses } from './businesses.ts'
import type { ThumbupContext, ThumbupReads } from './context.ts'
import { checkAfter, type PageInput } from './inputs.ts'
import type { MarkList } from './model/places.ts'
import { readLikesOfOthers } from './read/likes-of-others.ts'
import { makeShownTo } from './read/shown-to.ts'

type User = { id: unknown }

export function makeUserFields(businesses: ThumbupBusinesses, reads: Pick<ThumbupReads, 'likes' | 'isRestricted'>) {
  const shownTo = makeShownTo(reads)
  return {
    __resolveReference: resolveReference<User>,
    async likes(user: User, args: PageInput & { business: string }, context: ThumbupContext) {
      const viewer = requireViewer(context.viewer)
      const id = userId(user)
      if (id !== viewer.id && !viewer.scopes.includes(SCOPE_MARKS_READ_ANY)) {
        throw new TidemarkError(
          'FORBIDDEN',
          `user "${id.slice(0, 16)}" is not the viewer of the token: ask for your own likes, or use a token with scope ${SCOPE_MARKS_READ_ANY}`,
        )
      }
      const business = businesses.byName(args.business)
      checkFirst(args.first)
      const list: MarkList = { kind: 'likes', business: business.number, id }
      const before = checkAfter(list, args.after)
      const read = (after: MarkPlace | undefined, first: number) => reads.likes(id, business.number, after, first, context.degraded)
      const isShown = async ({ id: oid }: MarkEntry) =>
        shownTo(context.loaders, { business: business.number, oid }, viewer.id, false, () => true)
      const page = await (id === viewer.id ? read(before, args.first) : readLikesOfOthers(read, isShown, before, args.first))
      return (
        page &&
        listOf(list, page, before !== undefined, ({ id: liked, markedAt }) => ({
          node: { __typename: business.entity, id: liked },
          markedAt,
        }))
      )
    },
    likesReceived(user: User, args: { business: string }, context: ThumbupContext) {
      const business = businesses.byName(args.business)
      return context.loaders.ownerLikes.load({ business: business.number, owner: userId(user) })
    },
  }
}

export function userId({ id }: User): string {
  return idFrom(id, 'id')
}
