/**
 * The fields of a post. Each shows only a post that this viewer may see: an entity may come from another subgraph, with the id of any post.
 * The fields of other posts are null, without a hint of the reason.
 */
import type { BusinessConfig } from '../../config/config.ts'
import { knownOf, subjectId, subjectResolvers, type SubjectEntity } from '../subjects.ts'
import { knownPost } from './answers.ts'
import type { FeedContext } from './context.ts'
import { maySee, type Post } from './model/post.ts'
import { createdAtOf, isPostId, type PostId } from './packed/post-id.ts'

type PostEntity = SubjectEntity<Post>
type Shown = Post | null | Promise<Post | null>

export function makePostFields(business: BusinessConfig, regions: number) {
  /** The post, if this viewer may see it. */
  function shown(entity: PostEntity, context: FeedContext): Shown {
    return knownOf(entity) ?? load(subjectId(entity), context)
  }

  async function load(id: PostId, { loaders, viewer }: FeedContext): Promise<Post | null> {
    const post = isPostId(id, regions) ? await loaders.feed.posts.load(id) : undefined
    return post && maySee(post, viewer?.id) ? post : null
  }

  const field =
    <T>(of: (post: Post) => T) =>
    (entity: PostEntity, _: unknown, context: FeedContext): T | null | Promise<T | null> => {
      const post = shown(entity, context)
      if (post instanceof Promise) return post.then((loaded) => loaded && of(loaded))
      return post && of(post)
    }

  const counter = (name: 'repost' | 'comment' | 'read') => async (entity: PostEntity, _: unknown, context: FeedContext) => {
    const post = await shown(entity, context)
    return post && ((await context.loaders.feed.counts.load(post.id))?.[name] ?? null)
  }

  /** The source of the post: undefined if it shares none, null if no store answers. */
  async function sourceOf(entity: PostEntity, context: FeedContext): Promise<Post | 'deleted' | undefined | null> {
    const id = (await shown(entity, context))?.source
    if (id === undefined) return undefined
    const source = await context.loaders.feed.posts.load(id)
    if (source === null) return null
    // A source is public, so only its deletion hides it.
    return source !== undefined && maySee(source, context.viewer?.id) ? source : 'deleted'
  }

  return {
    load,
    fields: {
      ...subjectResolvers(business),
      author: field(({ author }) => ({ id: author })),
      text: field(({ text }) => text),
      media: field(({ media }) => media),
      createdAt: field(({ id }) => createdAtOf(id)),
      restricted: field(({ audience }) => audience !== undefined),
      async source(entity: PostEntity, _: unknown, context: FeedContext) {
        const source = await sourceOf(entity, context)
        return typeof source === 'object' && source !== null ? knownPost(business.entity, source) : null
      },
      async sourceState(entity: PostEntity, _: unknown, context: FeedContext) {
        const source = await sourceOf(entity, context)
        if (source === undefined || source === null) return null
        return source === 'deleted' ? 'DELETED' : 'SHOWN'
      },
      repostCount: counter('repost'),
      commentCount: counter('comment'),
      readCount: counter('read'),
    },
  }
}
