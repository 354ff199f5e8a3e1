/** The resolvers call loaders, reads and the service. They hold no logic and touch no store. */
import type { BusinessConfig } from '../../config/config.ts'
import { TidemarkError } from '../../core/errors.ts'
import { checkFirst, checkIdCount } from '../../core/input-limits.ts'
import { idFrom } from '../../core/keys.ts'
import { requireViewer } from '../../core/viewer.ts'
import { bigCount } from '../big-count.ts'
import { timestamp } from '../timestamp.ts'
import { knownPost, postsOf } from './answers.ts'
import type { FeedContext, FeedReads } from './context.ts'
import type { ChangeFollows } from './graph/follows.ts'
import { makeFeedMutations } from './mutations.ts'
import { isPostId } from './packed/post-id.ts'
import { makePostFields } from './post-fields.ts'
import type { FeedChange } from './read/waiting.ts'
import { makeUserFields, type PageArgs } from './user-fields.ts'
import type { FeedService } from './write/service.ts'

/** `business`: that of the posts. `regions`: of the deployment. */
export function makeFeedResolvers(
  business: BusinessConfig,
  regions: number,
  service: FeedService,
  changeFollows: ChangeFollows,
  reads: FeedReads,
) {
  const { entity } = business
  const { load, fields } = makePostFields(business, regions)

  const query = {
    async homeFeed(_: unknown, { first, after }: PageArgs, { viewer, degraded, loaders }: FeedContext) {
      const { id } = requireViewer(viewer)
      checkFirst(first)
      const page = await reads.homeFeed(id, { first, after: after ?? undefined, asOf: loaders.feed.asOf }, degraded)
      return page && postsOf(entity, page, typeof after === 'string')
    },
    posts(_: unknown, { ids }: { ids: string[] }, context: FeedContext) {
      checkIdCount(ids.length)
      return ids.map(async (id, at) => {
        const post = await load(idFrom(id, `ids[${at}]`), context)
        return post && knownPost(entity, post)
      })
    },
    feedUser(_: unknown, { id }: { id?: string | null }, { viewer }: FeedContext) {
      const known = id ?? viewer?.id
      return known === undefined ? null : { id: idFrom(known, 'id') }
    },
    filterWords: (_: unknown, __: unknown, { viewer, degraded, loaders }: FeedContext) =>
      reads.words(requireViewer(viewer).id, degraded, loaders.feed.asOf),
  }

  const subscription = {
    homeFeedChanged: {
      subscribe(_: unknown, { since }: { since?: string | null }, { viewer, degraded }: FeedContext) {
        const { id } = requireViewer(viewer)
        const place = since ?? undefined
        if (place !== undefined && !isPostId(place, regions))
          throw new TidemarkError('ID_INVALID', `since "${place.slice(0, 24)}" is not the id of a post: send one, or leave it out`)
        return reads.waiting(id, place, degraded)
      },
      resolve: (change: FeedChange) => change,
    },
  }

  return {
    Timestamp: timestamp,
    BigCount: bigCount,
    Query: query,
    Mutation: makeFeedMutations(entity, service, changeFollows, reads),
    Subscription: subscription,
    FilterWords: { id: (_: unknown, __: unknown, { viewer }: FeedContext) => `filter-words:${requireViewer(viewer).id}` },
    User: makeUserFields(entity, reads),
    [entity]: fields,
  }
}
