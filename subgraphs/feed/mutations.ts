/** The mutations of the feed: they call the service, and make payloads of its answers. */
import { requireViewer } from '../../core/viewer.ts'
import { orUserErrors, userErrorOf } from '../user-errors.ts'
import { FollowedUser, knownPost } from './answers.ts'
import type { FeedContext, FeedReads } from './context.ts'
import type { ChangeFollows, FollowAnswer } from './graph/follows.ts'
import type { CountEventInput, PublishPostInput } from './inputs.ts'
import type { CountAnswer } from './write/counting.ts'
import type { FeedService } from './write/service.ts'

type Input<T> = { input: T }

/** `entity`: the type of posts. */
export function makeFeedMutations(entity: string, service: FeedService, changeFollows: ChangeFollows, reads: Pick<FeedReads, 'isLogDown'>) {
  const noteLog = ({ degraded }: FeedContext): void => {
    if (reads.isLogDown()) degraded.add('log')
  }

  function followsOf(answer: FollowAnswer, at: number) {
    if (answer.outcome === 'REJECTED')
      return { outcome: answer.outcome, user: null, userErrors: [userErrorOf({ ...answer, inputPath: [] }, ['input', 'ids', String(at)])] }
    return { outcome: answer.outcome, user: new FollowedUser(answer.id, answer.follows), userErrors: [] }
  }

  const change =
    (follows: boolean) =>
    (_: unknown, { input }: Input<{ ids: string[] }>, context: FeedContext) =>
      orUserErrors(
        async () => {
          noteLog(context)
          const { viewer, degraded, loaders } = context
          const answers = await changeFollows(requireViewer(viewer).id, input.ids, follows, degraded)
          // Values that this request read earlier are outdated now.
          loaders.feed.follows.clearAll()
          loaders.feed.followerCounts.clearAll()
          loaders.feed.followingCounts.clearAll()
          return { results: answers.map(followsOf), userErrors: [] }
        },
        (userErrors) => ({ results: [], userErrors }),
      )

  function countOf(answer: CountAnswer, at: number) {
    if (answer.outcome === 'REJECTED')
      return { outcome: answer.outcome, post: null, userErrors: [userErrorOf(answer, ['input', 'events', String(at)])] }
    return { outcome: answer.outcome, post: { __typename: entity, id: answer.id }, userErrors: [] }
  }

  return {
    publishPost: (_: unknown, { input }: Input<PublishPostInput>, context: FeedContext) =>
      orUserErrors(
        async () => {
          context.loaders.feed.asOf = undefined
          const { post, repeated } = await service.publish(requireViewer(context.viewer), input, context.degraded)
          noteLog(context)
          context.loaders.feed.posts.clear(post.id)
          if (post.source !== undefined) context.loaders.feed.counts.clear(post.source)
          context.loaders.feed.postCounts.clear(post.author)
          // A repetition may find that the post was deleted.
          return { post: post.deleted ? { __typename: entity, id: post.id } : knownPost(entity, post), repeated, userErrors: [] }
        },
        (userErrors) => ({ post: null, repeated: false, userErrors }),
      ),
    deletePost: (_: unknown, { input }: Input<{ id: string }>, context: FeedContext) =>
      orUserErrors(
        async () => {
          context.loaders.feed.asOf = undefined
          const { id, author } = await service.delete(requireViewer(context.viewer), input.id, context.degraded)
          noteLog(context)
          context.loaders.feed.posts.clear(id)
          context.loaders.feed.counts.clearAll()
          context.loaders.feed.postCounts.clear(author)
          return { post: { __typename: entity, id }, author: { id: author }, userErrors: [] }
        },
        (userErrors) => ({ post: null, author: null, userErrors }),
        ['FORBIDDEN'],
      ),
    follow: change(true),
    unfollow: change(false),
    setFilterWords: (_: unknown, { input }: Input<{ words: string[] }>, context: FeedContext) =>
      orUserErrors(
        async () => {
          context.loaders.feed.asOf = undefined
          const { words } = await service.setWords(requireViewer(context.viewer), input.words)
          noteLog(context)
          return { filterWords: { words }, userErrors: [] }
        },
        (userErrors) => ({ filterWords: null, userErrors }),
      ),
    adjustCounts: (_: unknown, { input }: Input<{ events: CountEventInput[] }>, context: FeedContext) =>
      orUserErrors(
        async () => {
          const answers = await service.adjustCounts(context.viewer, input.events, context.degraded)
          context.loaders.feed.counts.clearAll()
          return { results: answers.map(countOf), userErrors: [] }
        },
        (userErrors) => ({ results: [], userErrors }),
      ),
  }
}
